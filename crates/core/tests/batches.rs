//! A batch is taken apart, and its answers go back as one array.

use crate::story::run;

#[test]
fn a_batch_is_answered_as_a_batch() {
    run(r#"
        A opens 1
        A> raw [{"jsonrpc":"2.0","id":"a","method":"tools/call"}, {"jsonrpc":"2.0","method":"notifications/x"}, {"jsonrpc":"2.0","id":"b","method":"tools/list"}]
            1< {"id":2,"method":"tools/call"}
            1< {"method":"notifications/x"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{}}
        1> {"id":2,"result":1}
            A< raw [{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","id":"a","result":1}]
    "#);
}

#[test]
fn notifications_alone_are_not_answered() {
    run(r#"
        A opens 1
        A> raw [{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","method":"notifications/y"}]
            1< {"method":"notifications/x"}
            1< {"method":"notifications/y"}
    "#);
}

#[test]
fn invalid_members_are_answered_in_place() {
    run(r#"
        A opens 1
        A> raw [1, {"id":5}, {"jsonrpc":"2.0","id":"a","method":"ping"}]
            1< {"id":2,"method":"ping"}
        1> {"id":2,"result":{}}
            A< raw [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,…}},{"jsonrpc":"2.0","id":5,"error":{"code":-32600,…}},{"jsonrpc":"2.0","id":"a","result":{}}]
        A> raw [1]
            A< raw [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,…}}]
        A> raw []
            A< {"id":null,"error":{"code":-32600,…}}
        A> raw [{"jsonrpc":"2.0","id":7,"method":"ping"},
            A< {"id":7,"error":{"code":-32700,…}}
    "#);
}

#[test]
fn a_cancelled_member_delays_no_other() {
    run(r#"
        A opens 1
        A> raw [{"jsonrpc":"2.0","id":"a","method":"tools/call"},{"jsonrpc":"2.0","id":"b","method":"tools/call"}]
            1< {"id":2,"method":"tools/call"}
            1< {"id":3,"method":"tools/call"}
        1> {"id":3,"result":1}
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            A< raw [{"jsonrpc":"2.0","id":"b","result":1}]
            1< {"method":"notifications/cancelled","params":{"requestId":2}}
        1> {"id":2,"result":"too late for an array"}
            - late answer dropped
    "#);
}

#[test]
fn a_crash_completes_a_batch() {
    run(r#"
        A opens 1
        A> raw [{"jsonrpc":"2.0","id":"a","method":"tools/call"},{"jsonrpc":"2.0","id":"b","method":"tools/call"}]
            1< {"id":2,"method":"tools/call"}
            1< {"id":3,"method":"tools/call"}
        1> {"id":2,"result":1}
        1 ends: signal 9
            A< raw [{"jsonrpc":"2.0","id":"a","result":1},{"jsonrpc":"2.0","id":"b","error":{"code":-32002,…}}]
            - restart after a pause
    "#);
}
