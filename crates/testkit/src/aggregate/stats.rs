//! What happened in a run, counted: a simulator that no longer reaches some path must not go unnoticed.

use crate::simulator::stats::counters;

counters! {
    steps,
    ticks,
    clients,
    aggregates,
    clients_lost,
    inputs_ended,
    stopped_reading,
    handshakes,
    handshakes_anew,
    /// Everything was known already.
    warm_handshakes,
    warm_lists,
    /// A client of one server was shown a stored list.
    from_store,
    requests,
    answers,
    batches,
    batch_answers,
    cancellations,
    progress,
    logs,
    updates,
    updates_heard,
    unsubscribed_by_us,
    tasks,
    asks,
    questions_answered,
    disputes,
    separated,
    tasks_hidden,
    roots_asked,
    // Lists.
    list_changes,
    fetched,
    pages_served,
    refused_pages,
    second_answers,
    read,
    read_too_late,
    kept,
    pages,
    /// Walks with more than one page.
    long_walks,
    told,
    // Routing.
    surely_routed,
    perhaps_routed,
    not_held,
    told_apart,
    /// A client of one server reached something past its filters, or was told that it is not there.
    single_access,
    single_hidden,
    filtered_pages,
    // Processes.
    starts,
    spawn_failures,
    crashes,
    breakers,
    retries,
    no_room,
    // The owner.
    orders,
    reloads,
    servers_dropped,
    runs,
    // Rest.
    rests,
    looks,
    /// What a client was shown of a server was compared with what the server offers.
    sections,
    // Errors of our own, by kind.
    error_backend_spawn_failed,
    error_backend_unavailable,
    error_backend_timeout,
    error_shutting_down,
    error_overloaded,
    error_client_too_slow,
    error_method_not_found,
    error_unknown_name,
    error_unknown_resource,
    error_stale_cursor,
    error_not_initialized,
}

impl Stats {
    /// Counts an error of ours by `data.kind`; `false` if there should be no such kind here.
    pub(super) fn count_error(&mut self, kind: &str) -> bool {
        let counter = match kind {
            "backend_spawn_failed" => &mut self.error_backend_spawn_failed,
            "backend_unavailable" => &mut self.error_backend_unavailable,
            "backend_timeout" => &mut self.error_backend_timeout,
            "shutting_down" => &mut self.error_shutting_down,
            "overloaded" => &mut self.error_overloaded,
            "client_too_slow" => &mut self.error_client_too_slow,
            "method_not_found" => &mut self.error_method_not_found,
            "unknown_name" => &mut self.error_unknown_name,
            "resource_not_found" => &mut self.error_unknown_resource,
            "stale_cursor" => &mut self.error_stale_cursor,
            "not_initialized" => &mut self.error_not_initialized,
            _ => return false,
        };
        *counter += 1;
        true
    }
}
