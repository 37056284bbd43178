//! A mutex without poisoning. A panic on any thread ends the whole process, so a guard that was dropped while unwinding
//! never leaves data for another thread to find. Must not know what is locked.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Exclusive access to a [`Lock`]'s value, until it is dropped.
pub type LockGuard<'a, T> = MutexGuard<'a, T>;

/// A [`Mutex`] whose [`lock`](Self::lock) returns the guard itself.
#[derive(Debug, Default)]
pub struct Lock<T: ?Sized>(Mutex<T>);

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Lock<T> {
    /// Blocks until no other thread holds the lock.
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guard, unless another thread, or this one, holds the lock.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Access without locking: the exclusive borrow already keeps other threads out.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`Condvar`] for a [`Lock`]: its waits return the guard itself.
#[derive(Debug, Default)]
pub struct Condition(Condvar);

impl Condition {
    pub const fn new() -> Self {
        Self(Condvar::new())
    }

    /// Releases the lock, waits for a notification and takes the lock again. May return without a notification.
    pub fn wait<'a, T>(&self, guard: LockGuard<'a, T>) -> LockGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same with a time limit.
    pub fn wait_timeout<'a, T>(&self, guard: LockGuard<'a, T>, limit: Duration) -> LockGuard<'a, T> {
        self.0.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn panicking_holder_leaves_the_lock_usable() {
        let lock = Arc::new(Lock::new(1));
        let theirs = lock.clone();
        let holder = thread::spawn(move || {
            let _guard = theirs.lock();
            panic!("while the lock is held");
        });
        assert!(holder.join().is_err());
        *lock.lock() += 1;
        assert_eq!(*lock.lock(), 2);
    }

    #[test]
    fn condition_wakes_a_waiter() {
        let shared = Arc::new((Lock::new(false), Condition::new()));
        let theirs = shared.clone();
        let waiter = thread::spawn(move || {
            let mut is_set = theirs.0.lock();
            while !*is_set {
                is_set = theirs.1.wait(is_set);
            }
        });
        *shared.0.lock() = true;
        shared.1.notify_all();
        assert!(waiter.join().is_ok());
    }
}
