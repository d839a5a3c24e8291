//! Determines the memory available to the process, which is the minimum of the machine's memory, `ulimit -v`, and the limits of
//! its cgroup and of the cgroups above it (cgroups v1 and v2).

use std::fs::{self, File};
use std::path::Path;
use std::sync::LazyLock;

use z3950_server::Headroom;

/// The memory limits of the process, in octets, which are determined in the first call to [`headroom`].
struct MemoryLimits {
    /// The limit on the address space.
    addresses: Option<u64>,
    /// The limit on the resident memory, from the machine and from the cgroups.
    resident: Option<u64>,
}

static LIMITS: LazyLock<MemoryLimits> = LazyLock::new(|| {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_cgroups = of_cgroups(&cgroups, Path::new("/sys/fs/cgroup"));
    MemoryLimits {
        addresses: of_process(),
        resident: [of_machine(), of_cgroups].into_iter().flatten().min(),
    }
});

/// The file with the page counts of the process. It is kept open, because the kernel computes the counts again for each read from
/// the beginning.
static STATM: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/self/statm").ok());

/// Returns how much memory the process can still allocate before it reaches one of its limits; `None` if this is unknown. A call
/// takes about a microsecond.
pub(crate) fn headroom() -> Option<Headroom> {
    let mut used = [0; 128];
    let length = rustix::io::pread(STATM.as_ref()?, &mut used, 0).ok()?;
    let used = str::from_utf8(used.get(..length)?).ok()?;
    left(used, rustix::param::page_size() as u64, &LIMITS)
}

/// Computes the headroom from the text of `/proc/self/statm`, which counts pages.
fn left(used: &str, page: u64, limits: &MemoryLimits) -> Option<Headroom> {
    let mut pages = used.split(' ').map(|pages| pages.parse::<u64>().ok());
    let mut of = |limit: Option<u64>| {
        let used = pages.next()??.saturating_mul(page);
        limit.map(|limit| Headroom {
            left: limit.saturating_sub(used),
            limit,
        })
    };
    let found = [of(limits.addresses), of(limits.resident)];
    found.into_iter().flatten().min_by_key(|room| room.left)
}

/// Returns the number of octets that all sessions together may keep: the configured number, or else a quarter of the memory
/// available to the process. The result is limited to the remaining memory minus the reserve, or to half of that if nothing is
/// configured.
pub(crate) fn server_octets(
    configured: Option<usize>,
    headroom: Option<Headroom>,
) -> Option<usize> {
    let Some(headroom) = headroom else {
        return configured;
    };
    let most = match configured {
        Some(octets) => headroom.spare().min(octets as u64),
        None => (headroom.spare() / 2).min(headroom.limit / 4),
    };
    usize::try_from(most).ok()
}

#[cfg(target_os = "linux")]
#[allow(clippy::useless_conversion, reason = "some systems count in 32 bits")]
fn of_machine() -> Option<u64> {
    let info = rustix::system::sysinfo();
    let octets = u64::from(info.mem_unit).checked_mul(info.totalram.into());
    octets.filter(|octets| *octets > 0)
}

#[cfg(not(target_os = "linux"))]
fn of_machine() -> Option<u64> {
    None
}

/// Returns whether the address space of the process is limited.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn addresses_are_limited() -> bool {
    of_process().is_some()
}

#[cfg(unix)]
fn of_process() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn of_process() -> Option<u64> {
    None
}

/// Returns the lowest limit of the cgroups listed in `/proc/self/cgroup` and of the cgroups above them; `None` if there is no
/// limit. A container may see only its own cgroup, at the root.
fn of_cgroups(cgroups: &str, root: &Path) -> Option<u64> {
    let limits = cgroups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next().unwrap_or_default();
        let path = fields.next().unwrap_or_default().trim_start_matches('/');
        let (folder, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ => (root.join("memory"), "memory.limit_in_bytes"),
        };
        let is_of_memory =
            controllers.is_empty() || controllers.split(',').any(|one| one == "memory");
        let groups = Path::new(path).ancestors();
        let limits = groups.filter_map(|group| {
            let text = fs::read_to_string(folder.join(group).join(file)).ok()?;
            // The text `max` means that there is no limit. It is not a number, so it is skipped here.
            text.trim().parse::<u64>().ok()
        });
        let least = limits.min();
        least.filter(|_| is_of_memory)
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_the_cgroups_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (path, text) in [
            ("memory.max", "max\n"),
            ("system.slice/memory.max", "1073741824\n"),
            ("system.slice/z3950d.service/memory.max", "536870912\n"),
            ("system.slice/other.service/memory.max", "max\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/docker/abc/memory.limit_in_bytes", "268435456\n"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        for (cgroups, expected) in [
            ("0::/system.slice/z3950d.service\n", Some(536_870_912)),
            ("0::/system.slice/other.service\n", Some(1_073_741_824)),
            (
                "0::/system.slice/other.service/deeper\n",
                Some(1_073_741_824),
            ),
            ("0::/\n", None),
            ("", None),
            (
                "11:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
                Some(268_435_456),
            ),
            ("4:memory:/nowhere\n", Some(9_223_372_036_854_771_712)),
            (
                "4:memory:/docker/abc\n0::/system.slice/z3950d.service\n",
                Some(268_435_456),
            ),
            ("nonsense", None),
        ] {
            assert_eq!(of_cgroups(cgroups, root), expected, "{cgroups}");
        }
    }

    #[test]
    fn the_least_headroom_counts() {
        const PAGE: u64 = 4096;
        let limits = |addresses, resident| MemoryLimits {
            addresses,
            resident,
        };
        let most = Some(1000 * PAGE);
        for (statm, limits, expected) in [
            ("400 100 5 1 0 1 0\n", limits(most, most), Some(600)),
            ("400 100 5 1 0 1 0\n", limits(None, most), Some(900)),
            ("400 100 5 1 0 1 0\n", limits(most, None), Some(600)),
            ("1001 100 5 1 0 1 0\n", limits(most, most), Some(0)),
            ("400 100 5 1 0 1 0\n", limits(None, None), None),
            ("", limits(most, most), None),
        ] {
            let found = left(statm, PAGE, &limits);
            assert_eq!(found.map(|room| room.left / PAGE), expected, "{statm}");
        }
    }

    #[test]
    fn sessions_get_a_quarter_and_no_more_than_is_left() {
        const MIB: u64 = 1 << 20;
        for (configured, left, expected) in [
            (None, 900, Some(256)),
            (None, 464, Some(200)),
            (None, 60, Some(0)),
            (Some(300), 900, Some(300)),
            (Some(usize::MAX >> 20), 900, Some(836)),
        ] {
            let headroom = Headroom {
                left: left * MIB,
                limit: 1024 * MIB,
            };
            let octets = server_octets(configured.map(|mib: usize| mib << 20), Some(headroom));
            assert_eq!(
                octets.map(|octets| octets >> 20),
                expected,
                "{configured:?}, {left}"
            );
        }
        assert_eq!(server_octets(Some(5), None), Some(5));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_how_much_there_is() {
        let room = headroom().expect("a limit");
        assert!(room.limit > 1 << 20 && room.left < room.limit, "{room:?}");
    }
}
