//! What happened in a run, counted: a simulator that no longer reaches some path must not go unnoticed.

use crate::simulator::stats::counters;

counters! {
    steps,
    ticks,
    late_ticks,
    clients,
    clients_ended,
    clients_lost,
    pinned_clients,
    early_talkers,
    requests,
    results,
    server_errors,
    cancellations,
    answers_after_cancellation,
    progress,
    late_progress,
    // Workspaces.
    roots_asked,
    roots_answered,
    roots_refused,
    roots_never_answered,
    late_lookups,
    roots_known,
    homes_moved,
    parked_and_routed,
    placed_calls,
    opened_roots,
    nested_roots,
    fallbacks,
    nowhere,
    greeted_without_a_process,
    roots_named_to_process,
    roots_changed_told,
    // Processes.
    starts,
    second_starts,
    spawn_failures,
    spawns_too_late,
    crashes,
    breaker_openings,
    retries,
    evictions,
    idle_stops,
    unused_stops,
    left_stops,
    memory_stops,
    memory_restarts,
    pool_memory_stops,
    pool_memory_restarts,
    health_restarts,
    timeout_restarts,
    slow_ends,
    state_lost,
    // Room.
    waits_for_room,
    room_errors,
    rooms_after_waiting,
    // Sharing.
    shared_processes,
    pings_answered,
    joins_by_welcome,
    handshakes_made_later,
    shared_by_likeness,
    interactive,
    interactive_splits,
    asks_passed_in_flight,
    asks_passed_to_the_only_one,
    asks_passed_by_task,
    asks_refused,
    updates_spread,
    logs_withheld,
    logs_spread,
    merged_notifications,
    levels_restored,
    levels_lowered,
    subscriptions_restored,
    unsubscribed_for_others,
    tasks,
    tasks_found_again,
    // Errors of our own, by kind.
    error_backend_spawn_failed,
    error_backend_unavailable,
    error_backend_timeout,
    error_routing_failed,
    error_shutting_down,
    error_overloaded,
}

impl Stats {
    /// Counts an error of ours by `data.kind`; `false` if there should be no such kind here.
    pub(super) fn count_error(&mut self, kind: &str) -> bool {
        let counter = match kind {
            "backend_spawn_failed" => &mut self.error_backend_spawn_failed,
            "backend_unavailable" => &mut self.error_backend_unavailable,
            "backend_timeout" => &mut self.error_backend_timeout,
            "routing_failed" => &mut self.error_routing_failed,
            "shutting_down" => &mut self.error_shutting_down,
            "overloaded" => &mut self.error_overloaded,
            _ => return false,
        };
        *counter += 1;
        true
    }
}
