use super::*;
use proptest::prelude::*;

/// Feeds `input` in chunks of `size` bytes and returns the frames as text.
fn cut(input: &[u8], framing: Option<Framing>, limit: usize, size: usize) -> Vec<String> {
    let mut framer = Framer::new(framing, limit);
    let mut frames = Vec::new();
    for piece in input.chunks(size.max(1)) {
        framer.buffer().extend_from_slice(piece);
        while let Some(frame) = framer.next_frame() {
            if let Frame::Message(bytes) = &frame {
                assert!(!framer.gave_plain() || bytes.is_ascii(), "what is called plain is plain");
            }
            frames.push(show(&frame));
        }
    }
    frames.extend(framer.end().as_ref().map(show));
    assert_eq!(framer.end(), None, "the end comes once");
    frames
}

fn show(frame: &Frame) -> String {
    match frame {
        Frame::Message(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Frame::Noise(bytes) => format!("noise:{}", String::from_utf8_lossy(bytes)),
        Frame::TooLong { length, glimpses } => {
            let ids: Vec<_> = glimpses.iter().flat_map(|g| &g.id).map(ToString::to_string).collect();
            format!("long:{length}:{}", ids.join(","))
        }
    }
}

fn check(input: &str, framing: Option<Framing>, expect: &[&str]) {
    for size in [1, 2, 3, 7, 64, input.len()] {
        assert_eq!(cut(input.as_bytes(), framing, 100, size), expect, "{input:?} in pieces of {size}");
    }
}

#[test]
fn lines_are_frames() {
    check("{\"a\":1}\n{\"b\":2}\n", None, &["{\"a\":1}", "{\"b\":2}"]);
    check("\u{feff}{\"a\":1}\r\n\r\n\n  \n{\"b\":2}\n", None, &["{\"a\":1}", "{\"b\":2}"]);
    check("{\"a\":1}\n{\"half\":", None, &["{\"a\":1}", "{\"half\":"]);
    check("hello\n{}\nContent-Length: 2\n", None, &["hello", "{}", "Content-Length: 2"]);
    check("Content-Length: 2\n", Some(Framing::Newline), &["Content-Length: 2"]);
    check("", None, &[]);
}

#[test]
fn content_length_headers_frame_messages() {
    check("Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 2\r\n\r\n{}", None, &["{\"a\":1}", "{}"]);
    check("content-type: x\r\nCONTENT-LENGTH:2\n\n{}\n", None, &["{}"]);
    check("Content-Length: 2\r\nX-Other: y\r\n\r\n{}", None, &["{}"]);
    check(
        "Content-Length: 2\r\n\r\n{}\r\nINFO started, no header\r\nContent-Length: 3\r\n\r\n[1]",
        None,
        &["{}", "noise:INFO started, no header", "[1]"],
    );
    check("Content-Length: 5\r\n\r\n{\n1\n}", None, &["{\n1\n}"]);
    check("Content-Length: 9\r\n\r\n{\"a\"", None, &["noise:{\"a\""]);
    check("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", None, &["{}"]);
    check("Content-Length: x\r\nContent-Length: 2\r\n\r\n{}", Some(Framing::ContentLength), &["{}"]);
}

#[test]
fn too_long_frame_is_dropped_stream_goes_on() {
    let text = "x".repeat(200);
    let line = format!("{{\"result\":\"{text}\",\"id\":7}}\n{{}}\n");
    check(&line, None, &[&format!("long:{}:7", line.len() - 4), "{}"]);
    let body = format!("{{\"result\":\"{text}\",\"id\":8}}");
    let framed = format!("Content-Length: {}\r\n\r\n{body}Content-Length: 2\r\n\r\n{{}}", body.len());
    check(&framed, None, &[&format!("long:{}:8", body.len()), "{}"]);
    let open = format!("{{\"id\":9,\"result\":\"{text}");
    check(&open, None, &[&format!("long:{}:9", open.len())]);
}

#[test]
fn frame_at_the_limit_is_allowed() {
    let (longest, longer) = ("x".repeat(100), "x".repeat(101));
    check(&format!("{longest}\n{longer}\n"), Some(Framing::Newline), &[&longest, "long:101:"]);
    let framed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    check(&format!("{}{}", framed(&longest), framed(&longer)), None, &[&longest, "long:101:"]);
}

#[test]
fn memory_is_bounded_during_a_long_line() {
    let mut framer = Framer::new(None, 1000);
    framer.buffer().extend_from_slice(b"{\"x\":\"");
    for _ in 0..10_000 {
        framer.buffer().extend_from_slice(&[b'y'; 1000]);
        assert_eq!(framer.next_frame(), None);
        assert!(framer.buffer().len() <= 2000);
    }
}

proptest! {
    /// The same frames come out, whatever the bytes and the chunk size.
    #[test]
    fn frames_do_not_depend_on_the_pieces(input in "(\\{\\}|\n|\r|a|é|Content-Length: [0-9]{1,3}|\r\n\r\n|\"|,){0,30}", size in 1usize..9) {
        let whole = cut(input.as_bytes(), None, 20, input.len());
        prop_assert_eq!(cut(input.as_bytes(), None, 20, size), whole);
    }
}
