//! Any bytes, in chunks of any size: the same frames come out, every byte is accounted for, and the buffer
//! stays within the limit.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_protocol::{Frame, Framer, Framing};

fuzz_target!(|data: &[u8]| {
    // The first bytes decide how the rest is fed.
    let Some((&[manner, limit, first, second], input)) = data.split_first_chunk() else { return };
    let framing = match manner % 3 {
        0 => None,
        1 => Some(Framing::Newline),
        _ => Some(Framing::ContentLength),
    };
    let limit = usize::from(limit) + 1;
    let whole = cut(input, framing, limit, &[input.len().max(1)]);
    let pieces = cut(input, framing, limit, &[usize::from(first % 31) + 1, usize::from(second) + 1]);
    assert_eq!(whole, pieces);
    assert_eq!(whole, cut(input, framing, limit, &[1]));
    for frame in &whole {
        match frame {
            Frame::Message(bytes) => assert!(bytes.len() <= limit && !bytes.trim_ascii().is_empty()),
            Frame::Noise(bytes) => assert!(bytes.len() <= limit),
            Frame::TooLong { length, .. } => assert!(*length > limit as u64),
        }
    }
});

/// Feeds the input in chunks of these sizes, repeatedly.
fn cut(input: &[u8], framing: Option<Framing>, limit: usize, sizes: &[usize]) -> Vec<Frame> {
    let mut framer = Framer::new(framing, limit);
    let mut frames = Vec::new();
    let mut rest = input;
    for &size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        framer.buffer().extend_from_slice(piece);
        frames.extend(std::iter::from_fn(|| framer.next_frame()));
        // A carriage return at the limit may be part of the line end or of the line.
        assert!(framer.buffer().len() <= limit + 1, "{} held of {limit}", framer.buffer().len());
        if rest.is_empty() {
            break;
        }
    }
    frames.extend(framer.end());
    assert_eq!(framer.end(), None, "the end comes once");
    frames
}
