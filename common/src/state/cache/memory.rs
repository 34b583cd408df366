//! How much memory is used, and how much there is: of the machine, and of every cgroup that this process is in. Pages of
//! files are not counted as used, for they go when somebody needs the room.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is used of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that are used.
    pub used: u64,
    /// Bytes that there are.
    pub limit: u64,
}

impl Usage {
    /// The used share.
    pub fn share(&self) -> f64 {
        if self.limit == 0 { 0.0 } else { self.used as f64 / self.limit as f64 }
    }
}

/// Tells how much memory is used. It is asked at every access, so it has to be quick.
pub trait Probe: Send + Sync {
    /// What is used now; `None` where that cannot be told, which is no pressure.
    fn usage(&self) -> Option<Usage>;
}

impl<F: Fn() -> Option<Usage> + Send + Sync> Probe for F {
    fn usage(&self) -> Option<Usage> {
        self()
    }
}

/// The machine and the cgroups of this process, whichever is the fullest: either may run out first.
pub struct Host {
    groups: Vec<Group>,
}

/// A cgroup that has, or may get, a limit.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    V1,
    V2,
}

impl Host {
    /// This process on this machine.
    pub fn new() -> Self {
        Self::at(Path::new("/"))
    }

    /// As a machine whose /proc and /sys lie below `root` would be, but for its memory.
    pub fn at(root: &Path) -> Self {
        let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let groups = groups(root, &text("proc/self/cgroup"), &text("proc/self/mountinfo"));
        Self { groups }
    }

    /// The fullest of the cgroups.
    fn tightest(&self) -> Option<Usage> {
        fullest(self.groups.iter().filter_map(Group::usage))
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.groups).finish()
    }
}

impl Probe for Host {
    fn usage(&self) -> Option<Usage> {
        fullest([machine(), self.tightest()].into_iter().flatten())
    }
}

fn fullest(usages: impl Iterator<Item = Usage>) -> Option<Usage> {
    usages.max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// The machine's memory.
fn machine() -> Option<Usage> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory_specifics(sysinfo::MemoryRefreshKind::nothing().with_ram());
    let limit = system.total_memory();
    (limit > 0).then(|| Usage { used: limit.saturating_sub(system.available_memory()), limit })
}

/// The cgroups of this process that count memory, its own first, then those above it as far as they can be seen. In a
/// container the own path may not exist below the mount, whose root then is the own cgroup.
fn groups(root: &Path, own: &str, mounts: &str) -> Vec<Group> {
    let mut all = vec![];
    for (version, mount, top) in mounts.lines().filter_map(mount) {
        let named = |line: &&str| {
            let mut fields = line.splitn(3, ':');
            let (number, names) = (fields.next(), fields.next().unwrap_or(""));
            match version {
                Version::V1 => names.split(',').any(|name| name == "memory"),
                Version::V2 => number == Some("0") && names.is_empty(),
            }
        };
        let Some(path) = own.lines().find(named).and_then(|line| line.splitn(3, ':').nth(2)) else {
            continue;
        };
        let mount = root.join(mount.trim_start_matches('/'));
        let below = path.strip_prefix(top).unwrap_or(path).trim_matches('/');
        let own = mount.join(below);
        let first = if own.is_dir() { own } else { mount.clone() };
        let folders = first.ancestors().take_while(|folder| folder.starts_with(&mount));
        all.extend(folders.map(|folder| Group { folder: folder.into(), version }));
    }
    all
}

/// A mount of cgroups that may count memory: its version, where it is, and which cgroup its root is.
fn mount(line: &str) -> Option<(Version, &str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(3);
    let (top, mount) = (fields.next()?, fields.next()?);
    let mut kinds = right.split(' ');
    let version = match kinds.next()? {
        "cgroup2" => Version::V2,
        "cgroup" if kinds.nth(1)?.split(',').any(|option| option == "memory") => Version::V1,
        _ => return None,
    };
    Some((version, mount, if top == "/" { "" } else { top }))
}

impl Group {
    /// What is used of the limit; `None` where there is none.
    fn usage(&self) -> Option<Usage> {
        let [limit, used] = match self.version {
            Version::V1 => ["memory.limit_in_bytes", "memory.usage_in_bytes"],
            Version::V2 => ["memory.max", "memory.current"],
        };
        let number =
            |name: &str| std::fs::read_to_string(self.folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // `max` is no number; version 1 says the largest multiple of a page
        let limit = number(limit).filter(|&limit| limit < 1 << 62)?;
        Some(Usage { used: number(used)?.saturating_sub(self.file_pages()), limit })
    }

    /// Pages of files, which go when the room is needed.
    fn file_pages(&self) -> u64 {
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let prefix = if self.version == Version::V1 { "total_" } else { "" };
        let pages = |name: &str| {
            let line = stat
                .lines()
                .find_map(|line| line.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        pages("active_file") + pages("inactive_file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
        root
    }

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_fullest_of_nested_cgroups_of_version_2() {
        let root = tree(&[
            ("proc/self/mountinfo", V2),
            ("proc/self/cgroup", "0::/jobs/train\n"),
            ("sys/fs/cgroup/jobs/memory.max", "1000\n"),
            ("sys/fs/cgroup/jobs/memory.current", "950\n"),
            ("sys/fs/cgroup/jobs/memory.stat", "anon 7\nfile 400\ninactive_file 100\nactive_file 50\n"),
            ("sys/fs/cgroup/jobs/train/memory.max", "max\n"),
            ("sys/fs/cgroup/jobs/train/memory.current", "900\n"),
        ]);
        assert_eq!(Host::at(root.path()).tightest(), Some(Usage { used: 800, limit: 1000 }));
        fs_err::write(root.path().join("sys/fs/cgroup/jobs/train/memory.max"), "910").unwrap();
        assert_eq!(Host::at(root.path()).tightest(), Some(Usage { used: 900, limit: 910 }));
    }

    #[test]
    fn version_1_beside_an_empty_version_2() {
        let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let stat = "active_file 1\ntotal_inactive_file 200\ntotal_active_file 100\n";
        let root = tree(&[
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", "4:memory:/box/1\n1:cpu:/\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000"),
            ("sys/fs/cgroup/memory/box/1/memory.limit_in_bytes", "2000"),
            ("sys/fs/cgroup/memory/box/1/memory.usage_in_bytes", "1500"),
            ("sys/fs/cgroup/memory/box/1/memory.stat", stat),
        ]);
        assert_eq!(Host::at(root.path()).tightest(), Some(Usage { used: 1200, limit: 2000 }));
    }

    /// A container sees its own cgroup as the root of the mount, under a path that is not there.
    #[test]
    fn a_container() {
        let root = tree(&[
            ("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"),
            ("proc/self/cgroup", "0::/docker/abc\n"),
            ("sys/fs/cgroup/memory.max", "500"),
            ("sys/fs/cgroup/memory.current", "100"),
        ]);
        assert_eq!(Host::at(root.path()).tightest(), Some(Usage { used: 100, limit: 500 }));
        fs_err::write(root.path().join("proc/self/cgroup"), "0::/../elsewhere\n").unwrap();
        assert_eq!(Host::at(root.path()).tightest(), Some(Usage { used: 100, limit: 500 }));
    }

    #[test]
    fn no_cgroups_and_nonsense_are_no_limit() {
        let root = tree(&[("proc/self/mountinfo", "x - cgroup2\n - \n"), ("proc/self/cgroup", "a\n::\n")]);
        assert_eq!(Host::at(root.path()).tightest(), None);
        assert_eq!(Host::at(Path::new("/nowhere")).tightest(), None);
    }

    #[test]
    fn this_machine_has_memory() {
        let usage = Host::new().usage().unwrap();
        assert!(usage.used > 0 && usage.used < usage.limit, "{usage:?}");
    }
}
