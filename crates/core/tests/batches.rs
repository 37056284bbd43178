//! A batch is taken apart, and its answers go back as one array.

use crate::script::check;

#[test]
fn a_batch_is_answered_as_a_batch() {
    check(
        r#"
        greeted
        client> [{"jsonrpc":"2.0","id":"a","method":"tools/call"}, {"jsonrpc":"2.0","method":"notifications/x"}, {"jsonrpc":"2.0","id":"b","method":"tools/list"}]
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
            server< {"jsonrpc":"2.0","method":"notifications/x"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
        server> {"jsonrpc":"2.0","id":2,"result":1}
            client< [{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","id":"a","result":1}]
        "#,
    );
}

#[test]
fn notifications_alone_are_not_answered() {
    check(
        r#"
        greeted
        client> [{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","method":"notifications/y"}]
            server< {"jsonrpc":"2.0","method":"notifications/x"}
            server< {"jsonrpc":"2.0","method":"notifications/y"}
        "#,
    );
}

#[test]
fn members_that_are_no_messages_are_answered_in_their_place() {
    check(
        r#"
        greeted
        client> [1, {"id":5}, {"jsonrpc":"2.0","id":"a","method":"ping"}]
            server< {"jsonrpc":"2.0","id":2,"method":"ping"}
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,…}},{"jsonrpc":"2.0","id":5,"error":{"code":-32600,…}},{"jsonrpc":"2.0","id":"a","result":{}}]
        client> [1]
            client< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,…}}]
        client> []
            client< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,…}}
        client> [{"jsonrpc":"2.0","id":7,"method":"ping"},
            client< {"jsonrpc":"2.0","id":7,"error":{"code":-32700,…}}
        "#,
    );
}

#[test]
fn a_member_that_is_taken_back_does_not_hold_up_the_rest() {
    check(
        r#"
        greeted
        client> [{"jsonrpc":"2.0","id":"a","method":"tools/call"},{"jsonrpc":"2.0","id":"b","method":"tools/call"}]
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":3,"result":1}
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
            client< [{"jsonrpc":"2.0","id":"b","result":1}]
            server< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        server> {"jsonrpc":"2.0","id":2,"result":"too late for an array"}
            - a late word, dropped
        "#,
    );
}

#[test]
fn a_crash_completes_a_batch() {
    check(
        r#"
        greeted
        client> [{"jsonrpc":"2.0","id":"a","method":"tools/call"},{"jsonrpc":"2.0","id":"b","method":"tools/call"}]
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2,"result":1}
        ended: signal 9
            client< [{"jsonrpc":"2.0","id":"a","result":1},{"jsonrpc":"2.0","id":"b","error":{"code":-32002,…}}]
            - restarts after a pause
        "#,
    );
}
