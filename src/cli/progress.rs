//! Says on the person's terminal that a long look at a file goes on, and takes that back when it has ended. Says nothing
//! where standard error is no terminal, and nothing about what is done within [`PATIENCE`]: an asset of the largest size
//! that can be loaded is hashed in a tenth of that unless the disk or the network that it lies on is slow.

use std::io::{IsTerminal as _, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What is said while an asset is read and hashed.
pub(crate) const HASHING: &str = "Reading and hashing the asset";
/// How long nothing is said.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often the line is renewed.
const RENEWAL: Duration = Duration::from_millis(500);
/// Back to the first column, and nothing on the line.
const ERASE: &str = "\r\x1b[K";

/// Does some work; if it takes long, standard error says `what` and for how long already. `what` is this program's own words.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let screen = std::io::stderr();
    if screen.is_terminal() { shown_on(screen, PATIENCE, what, work) } else { work() }
}

/// The work is done on this thread, because a process that it starts is bound to the thread that started it.
fn shown_on<T>(screen: impl Write + Send, patience: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        // Without a second thread the work is done all the same.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || watch(screen, patience, what, &end));
        let result = work();
        drop(ended);
        result
    })
}

/// A screen that takes no more is no reason to stop the work.
fn watch(mut screen: impl Write, patience: Duration, what: &str, end: &Receiver<()>) {
    let begun = Instant::now();
    let goes_on = |time| end.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !goes_on(patience) {
        return;
    }
    loop {
        let _ = write!(screen, "{ERASE}{what} ({} s)", begun.elapsed().as_secs());
        let _ = screen.flush();
        if !goes_on(RENEWAL) {
            break;
        }
    }
    let _ = write!(screen, "{ERASE}");
    let _ = screen.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::asset::open_named;
    use crate::foundation::digest::Digest;
    use crate::foundation::path::AbsolutePath;
    use crate::system::System as _;
    use crate::system::sim::{Call, HookAction, SimSystem};
    use std::sync::{Arc, Condvar, Mutex};

    /// What was written, and a way to wait for it.
    #[derive(Clone, Default)]
    struct Screen(Arc<(Mutex<String>, Condvar)>);

    impl Screen {
        fn wait_for_a_line(&self) {
            let (text, written) = &*self.0;
            drop(written.wait_while(text.lock().unwrap(), |text| text.is_empty()).unwrap());
        }

        fn text(&self) -> String {
            self.0.0.lock().unwrap().clone()
        }
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.0.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.1.notify_all();
            Ok(())
        }
    }

    #[test]
    fn a_slow_disk_shows_a_line_and_nothing_of_it_stays() {
        let screen = Screen::default();
        let system = SimSystem::new(1);
        system.arrange(|world| world.file("/w/a.kdna", 0o600, b"bytes")).unwrap();
        let waits = screen.clone();
        // The disk answers only after the person has been told.
        system.set_hook(move |_, event| {
            if event.call == Call::Seal {
                waits.wait_for_a_line();
            }
            HookAction::Proceed
        });
        let path = AbsolutePath::parse("/w/a.kdna").unwrap();
        let work = || open_named(&system, &path).and_then(|file| system.seal(&file, 10)).unwrap().1;
        assert_eq!(shown_on(screen.clone(), Duration::ZERO, "Hashing the asset", work), Digest::of(b"bytes"));
        let text = screen.text();
        assert!(text.starts_with("\r\x1b[KHashing the asset ("), "{text:?}");
        assert!(text.ends_with(" s)\r\x1b[K"), "{text:?}");
    }

    #[test]
    fn what_ends_in_time_shows_nothing() {
        let screen = Screen::default();
        assert_eq!(shown_on(screen.clone(), Duration::from_secs(3600), "Hashing the asset", || 7), 7);
        assert_eq!(screen.text(), "");
    }
}
