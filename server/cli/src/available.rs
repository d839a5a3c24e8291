//! The memory that the process may have: the least of what the machine has, what `ulimit -v` allows, and the limits of its cgroup
//! and those above it, of either version.

use std::fs;
use std::path::Path;

/// Octets that the process may have; `None` if the system says nothing.
pub(crate) fn memory() -> Option<u64> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_cgroups = of_cgroups(&cgroups, Path::new("/sys/fs/cgroup"));
    [of_machine(), of_process(), of_cgroups]
        .into_iter()
        .flatten()
        .min()
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

#[cfg(unix)]
fn of_process() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn of_process() -> Option<u64> {
    None
}

/// The least limit of the cgroups that `/proc/self/cgroup` names, and of those above them. A container may see its own group
/// only, at the root.
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
            // `max` is no limit.
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
    #[cfg(target_os = "linux")]
    fn linux_says_how_much_there_is() {
        assert!(memory().is_some_and(|octets| octets > 1 << 20));
    }
}
