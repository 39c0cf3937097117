//! `kdna-broker demo`: the main job, end to end and for real, in a temporary workspace that is removed at the end. Every
//! step says what it expects; the exit is 0 only if each one ended so. Simulates nothing.

mod screen;
mod steps;

use crate::cli::environment::Environment;
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::foundation::refusal::Reason;
use crate::system::os;
use screen::Screen;
use steps::Demo;

/// Runs it.
pub(crate) fn run(_: &Environment, words: &[String]) -> Outcome {
    if !words.is_empty() {
        return BROKER.misused("demo");
    }
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    let mut screen = Screen::new();
    let ended = Demo::prepare().and_then(|mut demo| {
        let ended = demo.run(&mut screen);
        // Removed before this process ends by the signal that asked for it.
        demo.remove().map_or(ended.map(|()| None), |signal| Ok(Some(signal)))
    });
    match ended {
        Ok(None) => {
            screen.end("Every step ended as it should.");
            Outcome::default()
        }
        Ok(Some(signal)) => Outcome::ended_by(signal),
        Err(what) => Outcome::failed(format!("Error: the demonstration did not end as it should: {what}.")),
    }
}
