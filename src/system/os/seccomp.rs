//! The call filter of the sandboxed worker: an allow list, as a search tree.
//!
//! What is not listed fails with EPERM. Numbers of the x32 interface, and of any other architecture, end the process. The
//! list does not rely on Landlock: what an old Landlock cannot refuse (emptying a file by opening it, changing modes and
//! times, ioctl, every kind of socket, signals to others) is refused here, so the promise is the same at every level.
//! Arguments are compared in their low 32 bits, as the kernel reads them.

mod deny;

use seccompiler::{BpfProgram, sock_filter};
use std::collections::BTreeMap;

pub(super) use deny::external_program;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the call filter is written for x86_64 and aarch64");

/// First number of the x32 interface. No other architecture comes near it.
const X32: u32 = 0x4000_0000;

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_GREATER_EQUAL: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;
const OFFSET_ARGUMENTS: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;
const NOT_PERMITTED: u32 = ERRNO | 1;
const NOT_IMPLEMENTED: u32 = ERRNO | 0x26;

/// What happens to one call.
#[derive(Clone, PartialEq)]
enum Rule {
    Allow,
    /// EPERM.
    Refuse,
    /// libc then uses the older call, whose arguments can be judged.
    Absent,
    /// Allowed if the argument, under the mask, is one of these; EPERM otherwise.
    Argument {
        index: u32,
        mask: u32,
        among: Vec<u32>,
    },
}

/// The filter. `None` only if it could not be encoded, which a test excludes.
pub(super) fn program(own_process: u32) -> Option<BpfProgram> {
    assemble(rules(own_process)?, &[(0, Rule::Refuse)])
}

/// The whole program: other interfaces end the process, then each call's rule. For what is not listed the floor at or
/// below its number decides; the first floor is at 0.
fn assemble(rules: Vec<(u32, Rule)>, floors: &[(u32, Rule)]) -> Option<BpfProgram> {
    let mut program = vec![
        step(LOAD, OFFSET_ARCHITECTURE),
        branch(JUMP_EQUAL, ARCHITECTURE, 1, 0)?,
        step(RETURN, KILL),
        step(LOAD, OFFSET_NUMBER),
        branch(JUMP_GREATER_EQUAL, X32, 0, 1)?,
        step(RETURN, KILL),
    ];
    program.extend(tree(&ranges(rules, floors)?)?);
    Some(program)
}

/// Where each rule begins: neighbours with the same rule are one range.
fn ranges(rules: Vec<(u32, Rule)>, floors: &[(u32, Rule)]) -> Option<Vec<(u32, Rule)>> {
    let mut points: BTreeMap<u32, Rule> = floors.iter().cloned().collect();
    for (number, _) in &rules {
        let (_, floor) = floors.iter().rev().find(|(start, _)| *start <= number + 1)?;
        points.entry(number + 1).or_insert_with(|| floor.clone());
    }
    points.extend(rules);
    let mut ranges: Vec<(u32, Rule)> = points.into_iter().collect();
    ranges.dedup_by(|(_, after), (_, before)| after == before);
    Some(ranges)
}

fn rules(own_process: u32) -> Option<Vec<(u32, Rule)>> {
    let low = |value: i32| u32::from_ne_bytes(value.to_ne_bytes());
    let mut rules =
        PLAIN.iter().map(|number| Some((u32::try_from(*number).ok()?, Rule::Allow))).collect::<Option<Vec<_>>>()?;
    let mut add = |number: libc::c_long, rule| u32::try_from(number).map(|number| rules.push((number, rule))).ok();
    let one_of = |index, mask, among: &[u32]| Rule::Argument { index, mask, among: among.to_vec() };

    let changing = low(libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC);
    add(libc::SYS_openat, one_of(2, changing, &[0]))?;
    #[cfg(target_arch = "x86_64")]
    add(libc::SYS_open, one_of(1, changing, &[0]))?;

    let executable = low(libc::PROT_EXEC);
    add(libc::SYS_mmap, one_of(2, executable, &[0]))?;
    add(libc::SYS_mprotect, one_of(2, executable, &[0]))?;

    let thread = low(libc::CLONE_THREAD);
    add(libc::SYS_clone, one_of(0, thread, &[thread]))?;
    add(libc::SYS_clone3, Rule::Absent)?;
    // A process may raise a signal in itself (abort), in nobody else.
    add(libc::SYS_tgkill, one_of(0, u32::MAX, &[own_process]))?;
    // Naming a thread.
    add(libc::SYS_prctl, one_of(0, u32::MAX, &[low(libc::PR_SET_NAME)]))?;
    // Not F_SETOWN and F_SETSIG, which send signals to others.
    let harmless = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC, libc::F_GET_SEALS].map(low);
    add(libc::SYS_fcntl, one_of(1, u32::MAX, &harmless))?;
    Some(rules)
}

const PLAIN: &[libc::c_long] = &[
    // Descriptors that are held already.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvmsg,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_getdents64,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    // Facts.
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getcwd,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    // Threads and this process itself.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Halves the ranges until one is left: a call is decided after about seven comparisons instead of sixty.
fn tree(ranges: &[(u32, Rule)]) -> Option<BpfProgram> {
    if let [(_, rule)] = ranges {
        return verdict(rule);
    }
    let (below, above) = ranges.split_at(ranges.len() / 2);
    let (pivot, _) = above.first()?;
    let (left, right) = (tree(below)?, tree(above)?);
    let mut program = vec![branch(JUMP_GREATER_EQUAL, *pivot, left.len(), 0)?];
    program.extend(left);
    program.extend(right);
    Some(program)
}

fn verdict(rule: &Rule) -> Option<BpfProgram> {
    let (index, mask, among) = match rule {
        Rule::Allow => return Some(vec![step(RETURN, ALLOW)]),
        Rule::Refuse => return Some(vec![step(RETURN, NOT_PERMITTED)]),
        Rule::Absent => return Some(vec![step(RETURN, NOT_IMPLEMENTED)]),
        Rule::Argument { index, mask, among } => (index, mask, among),
    };
    let mut program = vec![step(LOAD, OFFSET_ARGUMENTS + 8 * index), step(AND, *mask)];
    for (position, value) in among.iter().enumerate() {
        program.push(branch(JUMP_EQUAL, *value, among.len() - position, 0)?);
    }
    program.push(step(RETURN, NOT_PERMITTED));
    program.push(step(RETURN, ALLOW));
    Some(program)
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn branch(code: u16, k: u32, if_true: usize, if_false: usize) -> Option<sock_filter> {
    Some(sock_filter { code, jt: u8::try_from(if_true).ok()?, jf: u8::try_from(if_false).ok()?, k })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn decide(architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        decide_by(&program(42).unwrap(), architecture, number, arguments)
    }

    /// Runs a filter as the kernel would.
    pub(super) fn decide_by(program: &BpfProgram, architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            at += 1;
            match code {
                LOAD => {
                    accumulator = match k {
                        OFFSET_NUMBER => number,
                        OFFSET_ARCHITECTURE => architecture,
                        _ => u32::try_from(arguments[((k - 16) / 8) as usize] & 0xffff_ffff).unwrap(),
                    }
                }
                AND => accumulator &= k,
                JUMP_EQUAL => at += usize::from(if accumulator == k { jt } else { jf }),
                JUMP_GREATER_EQUAL => at += usize::from(if accumulator >= k { jt } else { jf }),
                RETURN => return k,
                _ => panic!("unknown instruction"),
            }
        }
    }

    fn call(number: libc::c_long, arguments: [u64; 6]) -> u32 {
        decide(ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    #[test]
    fn every_listed_call_is_decided_by_its_own_rule_and_no_other_is_allowed() {
        let listed: Vec<u32> = rules(42).unwrap().iter().map(|(number, _)| *number).collect();
        for number in 0..1024 {
            let verdict = decide(ARCHITECTURE, number, [0; 6]);
            let plain = PLAIN.contains(&libc::c_long::from(number));
            assert!(!plain || verdict == ALLOW, "{number}");
            assert!(listed.contains(&number) || verdict == NOT_PERMITTED, "{number}");
        }
        let mut unique = listed.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), listed.len(), "a call is listed twice");
    }

    #[test]
    fn what_an_old_landlock_would_let_through_is_refused() {
        let refused = [
            libc::SYS_openat2,
            libc::SYS_memfd_create,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_ioctl,
            libc::SYS_truncate,
            libc::SYS_ftruncate,
            libc::SYS_fallocate,
            libc::SYS_fchmod,
            libc::SYS_fchmodat,
            libc::SYS_utimensat,
            libc::SYS_fsetxattr,
            libc::SYS_socket,
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_pidfd_send_signal,
            libc::SYS_prlimit64,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_setrlimit,
            libc::SYS_setsid,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_bpf,
            libc::SYS_userfaultfd,
            libc::SYS_keyctl,
            libc::SYS_perf_event_open,
            libc::SYS_readlinkat,
        ];
        for number in refused {
            assert_eq!(call(number, [0; 6]), NOT_PERMITTED, "{number}");
        }
        let own = |command: i32| call(libc::SYS_fcntl, [0, u64::try_from(command).unwrap(), 0, 0, 0, 0]);
        assert_eq!(own(libc::F_GETFD), ALLOW);
        assert_eq!((own(libc::F_SETOWN), own(libc::F_SETFL)), (NOT_PERMITTED, NOT_PERMITTED));
        for (call_number, argument) in [(libc::SYS_mmap, 2), (libc::SYS_mprotect, 2)] {
            let mut arguments = [0; 6];
            arguments[argument] = 3;
            assert_eq!(call(call_number, arguments), ALLOW);
            arguments[argument] = 7;
            assert_eq!(call(call_number, arguments), NOT_PERMITTED, "no new executable memory");
        }
    }

    #[test]
    fn other_call_interfaces_end_the_process() {
        assert_eq!(decide(ARCHITECTURE, X32, [0; 6]), KILL);
        assert_eq!(decide(ARCHITECTURE, u32::MAX, [0; 6]), KILL);
        assert_eq!(decide(0x4000_0003, 1, [0; 6]), KILL);
    }

    #[test]
    fn an_open_that_could_change_anything_is_refused() {
        let open = |flags: i32| call(libc::SYS_openat, [0, 0, u64::from(u32::try_from(flags).unwrap()), 0, 0, 0]);
        assert_eq!(open(libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC), ALLOW);
        assert_eq!(open(libc::O_PATH | libc::O_DIRECTORY), ALLOW);
        for flags in [libc::O_TRUNC, libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_ACCMODE] {
            assert_eq!(open(flags), NOT_PERMITTED, "{flags:o}");
        }
        let high = 1 << 40 | u64::from(u32::try_from(libc::O_TRUNC).unwrap());
        assert_eq!(call(libc::SYS_openat, [0, 0, high, 0, 0, 0]), NOT_PERMITTED, "high bits hide nothing");
    }

    #[test]
    fn threads_may_start_and_processes_may_not() {
        let thread = u64::from(u32::try_from(libc::CLONE_THREAD | libc::CLONE_VM).unwrap());
        assert_eq!(call(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_clone, [17, 0, 0, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_clone3, [0; 6]), NOT_IMPLEMENTED);
        assert_eq!(call(libc::SYS_tgkill, [42, 1, 6, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_tgkill, [43, 1, 6, 0, 0, 0]), NOT_PERMITTED);
    }
}
