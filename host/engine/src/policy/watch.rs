//! A look at the clock from outside, for components that fuel does not bound.
//!
//! What is composed of several components with code of their own hands over
//! strings between them. The host copies those, and nobody charges fuel for it:
//! a loop that hands over all of its memory would run for hours. Everything
//! else does without a second thread.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use wasmtime::{Engine, Result, Store, UpdateDeadline};

use super::host::State;
use super::meter::{LONGEST, in_time};

/// A decision is watched for as long as this is there.
pub(super) struct Watch {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn over<S: 'static>(store: &mut Store<State<S>>) -> Result<Self> {
        // Others may be running in the same engine, each with a watch: who is
        // woken looks whether it is meant.
        store.set_epoch_deadline(1);
        store
            .epoch_deadline_callback(|cx| in_time(cx.data()).map(|()| UpdateDeadline::Continue(1)));
        Self::wake(store.engine().clone(), LONGEST)
    }

    fn wake(engine: Engine, after: Duration) -> Result<Self> {
        let (over, is_over) = channel();
        let thread = Builder::new().stack_size(64 << 10).spawn(move || {
            if is_over.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        })?;
        Ok(Self {
            over: Some(over),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, the decision would be over as well.
            let _ = thread.join();
        }
    }
}
