use super::*;
use crate::fronts::http::inbox::InboxItems;
use switchboard_protocol::{Kind, Message, Part};

fn message(text: &str) -> Message {
    match parse(text.to_owned().into()) {
        Ok(Parsed::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

fn client() -> (Arc<StatelessClient>, Arc<Inbox>) {
    let inbox: Arc<Inbox> = Arc::default();
    (StatelessClient::new(ClientId(1), Arc::default(), inbox.clone(), ClientReader::default()), inbox)
}

fn opening(id: &str) -> Opening {
    Opening { id: RawId::from_bytes(id.as_bytes()), takes_streams: true }
}

fn put(client: &StatelessClient, text: &str, about: About) {
    client.put(Outgoing::of(&message(text)), about);
}

/// The messages that the core got on behalf of the client.
fn told(inbox: &Inbox) -> Vec<Message> {
    let mut items = InboxItems::default();
    inbox.take(&mut items);
    let read = |event: Event| match event {
        Event::FromClient { frame: Ok(Parsed::One(message)), .. } => message,
        other => panic!("{other:?}"),
    };
    items.said.into_iter().map(read).collect()
}

fn about(id: &str) -> About {
    About::Request(RawId::from_bytes(id.as_bytes()))
}

#[test]
fn only_message_is_answered_whole() {
    let (client, inbox) = client();
    let (call, mut answer) = client.open(&opening("7")).unwrap();
    put(&client, r#"{"id":7,"error":{"code":-32601,"message":"no"}}"#, About::Nothing);
    let Ok(Outcome::Whole { part, failure, .. }) = answer.try_recv() else { panic!("not whole") };
    assert_eq!(&part.bytes[..], br#"{"id":7,"error":{"code":-32601,"message":"no"}}"#);
    assert_eq!(failure.and_then(Failure::status).map(|status| status.as_u16()), Some(404));
    drop(call);
    assert!(told(&inbox).is_empty(), "answered before it was closed");
    assert!(client.idle_since().is_some());
}

#[test]
fn notification_begins_a_stream() {
    let (client, _inbox) = client();
    let (_call, mut answer) = client.open(&opening("\"a\"")).unwrap();
    put(&client, r#"{"method":"notifications/progress"}"#, about("\"b\""));
    put(&client, r#"{"method":"notifications/message"}"#, About::Nothing);
    assert!(answer.try_recv().is_err(), "about another request, and about none");
    put(&client, r#"{"method":"notifications/progress"}"#, about("\"a\""));
    put(&client, r#"{"id":"a","result":{}}"#, About::Nothing);
    let Ok(Outcome::Stream(mut parts)) = answer.try_recv() else { panic!("not a stream") };
    let mut next = || parts.try_recv().ok().map(|part| String::from_utf8(part.bytes.to_vec()).unwrap());
    let event = |data: &str| Some(format!("event: message\ndata: {data}\n\n"));
    assert_eq!(next(), event(r#"{"method":"notifications/progress"}"#));
    assert_eq!(next(), event(r#"{"id":"a","result":{}}"#));
    assert_eq!(next(), None);
}

#[test]
fn closed_response_cancels_its_request() {
    let (client, inbox) = client();
    let (mut call, _answer) = client.open(&opening("7")).unwrap();
    call.tell();
    assert!(client.open(&opening("7")).is_none() && client.idle_since().is_none());
    drop(call);
    let told = told(&inbox);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].method(), told[0].part(Part::RequestId)), (Method::Cancelled, Some(&b"7"[..])));
    assert!(client.idle_since().is_some());
    // The late answer must not reach another request of this id.
    assert!(client.open(&opening("7")).is_none());
    put(&client, r#"{"id":7,"result":{"late":true}}"#, About::Nothing);
    let (_call, mut answer) = client.open(&opening("7")).unwrap();
    assert!(answer.try_recv().is_err());
}

#[test]
fn id_is_free_once_no_answer_can_come() {
    let (client, _inbox) = client();
    let id = RawId::from_bytes(b"7");
    let (mut call, _answer) = client.open(&opening("7")).unwrap();
    call.tell();
    client.no_answer(&id);
    assert!(client.open(&opening("7")).is_none(), "somebody waits for it");
    drop(call);
    client.no_answer(&id);
    let (_call, mut answer) = client.open(&opening("7")).unwrap();
    client.no_answer(&id);
    put(&client, r#"{"id":7,"result":{}}"#, About::Nothing);
    assert!(matches!(answer.try_recv(), Ok(Outcome::Whole { .. })), "another request");
}

/// The core has not heard of it, so no late answer can come.
#[test]
fn unsent_request_leaves_nothing() {
    let (client, inbox) = client();
    drop(client.open(&opening("7")).unwrap());
    assert!(told(&inbox).is_empty() && client.open(&opening("7")).is_some());
}

#[test]
fn worn_out_client_takes_no_more() {
    let (client, _inbox) = client();
    for id in 0..MAX_ABANDONED {
        assert!(!client.is_spent());
        client.open(&opening(&id.to_string())).unwrap().0.tell();
    }
    assert!(client.is_spent() && client.open(&opening("9999")).is_none());
}

#[test]
fn server_requests_are_declined() {
    let (client, inbox) = client();
    put(&client, r#"{"id":5,"method":"ping"}"#, About::Nothing);
    put(&client, r#"{"id":6,"method":"roots/list"}"#, about("1"));
    let told = told(&inbox);
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].kind(), told[0].part(Part::Id)), (Kind::Response { failed: false }, Some(&b"5"[..])));
    assert_eq!((told[1].kind(), told[1].part(Part::Id)), (Kind::Response { failed: true }, Some(&b"6"[..])));
}

#[test]
fn end_of_client_ends_its_responses() {
    let (client, inbox) = client();
    let (waiting, mut answer) = client.open(&opening("1")).unwrap();
    let (streaming, mut stream) = client.open(&opening("2")).unwrap();
    put(&client, r#"{"method":"notifications/progress"}"#, about("2"));
    client.close();
    assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    let Ok(Outcome::Stream(mut parts)) = stream.try_recv() else { panic!("not a stream") };
    assert!(parts.try_recv().is_ok());
    assert!(matches!(parts.try_recv(), Err(mpsc::error::TryRecvError::Disconnected)));
    drop((waiting, streaming));
    let mut items = InboxItems::default();
    inbox.take(&mut items);
    assert!(items.said.is_empty(), "the core has ended the client itself");
    assert!(client.open(&opening("3")).is_none() && client.is_spent());
}
