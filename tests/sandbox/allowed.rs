//! What a worker must still be able to do, at every Landlock level.

use crate::Check;
use crate::stage::{Stage, kernel_abi};
use kdna_broker::system::{ChildFault, Enforcement};

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("a_worker_can::{name}"), Box::new(run)) };
    vec![
        check("compute_with_memory_threads_time_and_chance", lives),
        check("look_beneath_its_directory_by_the_same_rules_as_outside", observes),
        check("read_the_sealed_file_and_not_change_it", reads_sealed),
        check("abort", aborts),
        check("report_the_level_it_has_reached", reports),
    ]
}

fn at_every_level(run: impl Fn(&Stage, u32)) {
    let stage = Stage::new();
    (1..=kernel_abi()).for_each(|abi| run(&stage, abi));
}

fn lives() {
    at_every_level(|stage, abi| {
        let report = stage.run(&format!("unreadable {abi} live")).unwrap();
        assert_eq!(String::from_utf8(report.output).unwrap(), "true true true 6");
        assert_eq!(report.errors, b"errors go out\n");
    });
}

fn observes() {
    at_every_level(|stage, abi| assert_eq!(stage.answer(&format!("confined {abi} observe")), "as outside"));
}

fn reads_sealed() {
    at_every_level(|stage, abi| {
        let sealed = stage.sealed(b"sealed bytes");
        let read = stage.run_with(&format!("unreadable {abi} read-sealed"), |order| order.sealed = Some(&sealed));
        assert_eq!(String::from_utf8(read.unwrap().output).unwrap(), "TooLarge 12 sealed bytes");
        let written = stage.run_with(&format!("confined {abi} write-sealed"), |order| order.sealed = Some(&sealed));
        assert_eq!(written.unwrap().output, b"true true", "a sealed file was written");
        let unconfined = stage.run_with("unconfined 0 write-sealed", |order| order.sealed = Some(&sealed));
        assert_eq!(unconfined.unwrap().output, b"true true", "seals hold without any sandbox");
    });
}

fn aborts() {
    at_every_level(|stage, abi| {
        assert_eq!(stage.run(&format!("confined {abi} aborts")).unwrap_err(), ChildFault::Signal(6));
    });
}

fn reports() {
    at_every_level(|stage, abi| {
        let report = stage.run(&format!("confined {abi} echo")).unwrap();
        assert_eq!(
            report.enforcement,
            Enforcement { landlock: abi, seccomp: true, sealed: false, pin: kdna_broker::system::PinKind::Embedded }
        );
    });
}
