//! What happened in a run, counted: a simulator that no longer reaches some path must not go unnoticed.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often each thing happened.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Stats {
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Every counter with its name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        impl std::fmt::Display for Stats {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                for (name, count) in self.iter() {
                    writeln!(f, "{count:>10}  {}", name.replace('_', " "))?;
                }
                Ok(())
            }
        }
    };
}

pub(crate) use counters;

counters! {
    steps,
    ticks,
    /// Ticks that came after the moment for which they were wanted.
    late_ticks,
    clients,
    requests,
    answers,
    server_errors,
    batches,
    batches_of_notifications,
    /// Arrays that came back.
    batch_answers,
    /// An id was used again, also while the first was still open.
    reused_ids,
    garbage,
    bare_clients,
    handshakes,
    replays,
    second_initializes,
    client_too_long,
    backend_too_long,
    broken_answers,
    /// Errors with a null id that found their request.
    null_id_errors,
    second_answers,
    stray_answers,
    late_answers,
    words_of_the_dead,
    quarantined,
    glued_messages,
    cancellations,
    cancellations_mapped,
    unknown_cancellations,
    answers_after_cancellation,
    progress,
    stray_progress,
    unknown_progress,
    forged_progress,
    progress_after_answer,
    notifications_to_client,
    notifications_to_backend,
    dropped_for_client,
    dropped_for_backend,
    asks,
    asks_answered,
    asks_refused,
    asks_cancelled_by_server,
    asks_withdrawn,
    asks_answered_twice,
    asks_progress,
    spawn_failures,
    crashes,
    crashes_before_handshake,
    crashes_during_replay,
    restarts,
    retries,
    breaker_openings,
    probes,
    restarts_without_sign_of_life,
    framing_retries,
    framing_learnt,
    stops,
    kills,
    clogged_clients,
    clogged_backends,
    clients_ended,
    clients_lost,
    clients_in_the_end,
    shutdowns,
    exits,
    drains,
    kill_orders,
    // The errors of our own, by kind.
    error_backend_spawn_failed,
    error_backend_unavailable,
    error_backend_timeout,
    error_overloaded,
    error_shutting_down,
    error_client_too_slow,
    error_message_too_large,
    error_bad_answer,
    error_method_not_found,
    error_bad_message,
}

impl Stats {
    /// Counts an error of ours by `data.kind`; `false` if there is no such kind.
    pub(super) fn count_error(&mut self, kind: &str) -> bool {
        let counter = match kind {
            "backend_spawn_failed" => &mut self.error_backend_spawn_failed,
            "backend_unavailable" => &mut self.error_backend_unavailable,
            "backend_timeout" => &mut self.error_backend_timeout,
            "overloaded" => &mut self.error_overloaded,
            "shutting_down" => &mut self.error_shutting_down,
            "client_too_slow" => &mut self.error_client_too_slow,
            "message_too_large" => &mut self.error_message_too_large,
            "bad_answer" => &mut self.error_bad_answer,
            "method_not_found" => &mut self.error_method_not_found,
            "bad_message" => &mut self.error_bad_message,
            _ => return false,
        };
        *counter += 1;
        true
    }
}
