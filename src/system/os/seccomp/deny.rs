//! The call filter of an external runtime: a deny list, because nobody can list what a foreign interpreter needs.
//!
//! It allows what runs a program: memory, threads, its own descriptors, reading files. It refuses what reaches anything
//! else: new processes, sockets, every change of a file, other processes, other namespaces, shared memory and queues that
//! outlive the process, kernel interfaces with a history. Calls newer than the list do not exist for it. Executing stays
//! possible (the pinned interpreter is started under this filter); Landlock leaves nothing else to execute, and no
//! anonymous file can be made to get around it.

use super::{Rule, assemble};
use seccompiler::BpfProgram;

/// One more than the newest call that was looked at.
const NEWEST: u32 = 463;
/// `PR_SET_VMA`: naming a mapping.
const NAME_MAPPING: u32 = 0x5356_4d41;

/// The same number everywhere; not every libc names it.
const FCHMODAT2: libc::c_long = 452;

/// The filter. `None` only if it could not be encoded, which a test excludes.
pub(in super::super) fn external_program(own_process: u32) -> Option<BpfProgram> {
    assemble(rules(own_process)?, &[(0, Rule::Allow), (NEWEST, Rule::Absent)])
}

fn rules(own_process: u32) -> Option<Vec<(u32, Rule)>> {
    let refused = REFUSED.iter().map(|number| (*number, Rule::Refuse));
    let absent = ABSENT.iter().map(|number| (*number, Rule::Absent));
    let rules = refused.chain(absent).chain(judged(own_process));
    rules.map(|(number, rule)| Some((u32::try_from(number).ok()?, rule))).collect()
}

/// Calls whose arguments decide.
fn judged(own_process: u32) -> Vec<(libc::c_long, Rule)> {
    let low = |value: i32| u32::from_ne_bytes(value.to_ne_bytes());
    let one_of = |index, mask, among: &[u32]| Rule::Argument { index, mask, among: among.to_vec() };
    let changing = low(libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC);
    let thread = low(libc::CLONE_THREAD);
    // Not F_SETOWN and F_SETSIG, which send signals, nor locks and leases, which keep others waiting.
    let own_descriptor = [
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GET_SEALS,
        libc::F_GETPIPE_SZ,
    ];
    // Not PR_SET_PDEATHSIG, which would outlive the broker, nor PR_SET_PTRACER.
    let own_facts = [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_GET_DUMPABLE, libc::PR_CAPBSET_READ];
    let names: Vec<u32> = own_facts.map(low).into_iter().chain([NAME_MAPPING]).collect();
    // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: questions, and what fcntl may do as well.
    let harmless = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
    vec![
        (libc::SYS_openat, one_of(2, changing, &[0])),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, one_of(1, changing, &[0])),
        (libc::SYS_clone, one_of(0, thread, &[thread])),
        (libc::SYS_tgkill, one_of(0, u32::MAX, &[own_process])),
        (libc::SYS_prlimit64, one_of(0, u32::MAX, &[0])),
        (libc::SYS_fcntl, one_of(1, u32::MAX, &own_descriptor.map(low))),
        (libc::SYS_prctl, one_of(0, u32::MAX, &names)),
        (libc::SYS_ioctl, one_of(1, u32::MAX, &harmless)),
    ]
}

/// Libraries then use the older call, whose arguments can be judged, or do without.
const ABSENT: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

const REFUSED: &[libc::c_long] = &[
    // Other programs and processes.
    libc::SYS_execveat,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_kcmp,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Sockets. Its standard input is one: reading and closing it stays possible.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    // Changes of files, and locks on them.
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_flock,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    // What outlives the process.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Rights, namespaces, mounts.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_personality,
    libc::SYS_seccomp,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

#[cfg(test)]
mod tests {
    use super::super::tests::decide_by;
    use super::super::{ALLOW, ARCHITECTURE, KILL, NOT_IMPLEMENTED, NOT_PERMITTED, X32};
    use super::*;

    fn call(number: libc::c_long, arguments: [u64; 6]) -> u32 {
        decide_by(&external_program(42).unwrap(), ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    #[test]
    fn every_listed_call_is_decided_by_its_own_rule_and_newer_ones_do_not_exist() {
        let program = external_program(42).unwrap();
        let listed: Vec<u32> = rules(42).unwrap().iter().map(|(number, _)| *number).collect();
        for number in 0..1024 {
            let verdict = decide_by(&program, ARCHITECTURE, number, [0; 6]);
            let expected = match libc::c_long::from(number) {
                _ if number >= NEWEST => NOT_IMPLEMENTED,
                call if REFUSED.contains(&call) => NOT_PERMITTED,
                call if ABSENT.contains(&call) => NOT_IMPLEMENTED,
                _ if listed.contains(&number) => verdict,
                _ => ALLOW,
            };
            assert_eq!(verdict, expected, "{number}");
        }
        let mut unique = listed.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), listed.len(), "a call is listed twice");
        assert!(unique.iter().all(|number| *number < NEWEST));
        assert_eq!(decide_by(&program, ARCHITECTURE, X32, [0; 6]), KILL);
        assert_eq!(decide_by(&program, 0x4000_0003, 1, [0; 6]), KILL);
    }

    #[test]
    fn files_are_read_and_never_changed() {
        let open = |flags: i32| call(libc::SYS_openat, [0, 0, u64::from(u32::try_from(flags).unwrap()), 0, 0, 0]);
        assert_eq!(open(libc::O_RDONLY | libc::O_CLOEXEC), ALLOW);
        for flags in [libc::O_TRUNC, libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TMPFILE | libc::O_RDWR] {
            assert_eq!(open(flags), NOT_PERMITTED, "{flags:o}");
        }
    }

    #[test]
    fn threads_may_start_and_processes_may_not_nor_may_others_be_touched() {
        let thread = u64::from(u32::try_from(libc::CLONE_THREAD | libc::CLONE_VM).unwrap());
        assert_eq!(call(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_clone, [17, 0, 0, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_tgkill, [42, 1, 6, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_tgkill, [43, 1, 6, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_prlimit64, [0, 7, 0, 0, 0, 0]), ALLOW);
        assert_eq!(call(libc::SYS_prlimit64, [1, 7, 0, 0, 0, 0]), NOT_PERMITTED);
        let of = |value: i32| u64::try_from(value).unwrap();
        assert_eq!(call(libc::SYS_fcntl, [0, of(libc::F_SETOWN), 0, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_fcntl, [0, of(libc::F_SETLK), 0, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_prctl, [of(libc::PR_SET_PDEATHSIG), 0, 0, 0, 0, 0]), NOT_PERMITTED);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), NOT_PERMITTED, "TIOCSTI");
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5421, 0, 0, 0, 0]), ALLOW, "FIONBIO");
    }
}
