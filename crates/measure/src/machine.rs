//! Facts about this machine that every result records. The machine's name is not among them.

use crate::launch::Environment;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// What a result depends on besides the program. Facts that cannot be read are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The name by which the processor identifies itself.
    pub cpu_model: Option<String>,
    /// How many processors are online.
    pub cores: Option<u32>,
    /// As `std::env::consts::ARCH` names it.
    pub architecture: String,
    /// Main memory.
    pub memory: Option<Bytes>,
    /// As `uname -r` prints it.
    pub kernel_release: Option<String>,
    /// The size of a page.
    pub page_size: Option<Bytes>,
    /// Each processor vulnerability that the kernel knows, and its mitigation.
    pub mitigations: Option<BTreeMap<String, String>>,
    /// The frequency governor. If processors have different ones, all their names.
    pub governor: Option<String>,
    /// The hypervisor that this machine runs on, or `none`.
    pub virtualisation: Option<String>,
    /// The kind of container that we run in, or `none`.
    pub container: Option<String>,
    /// The source of the kernel's clock.
    pub clock_source: Option<String>,
    /// When memory is backed by huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// How much of the address space is randomised: 0, 1 or 2 (`kernel.randomize_va_space`).
    pub address_randomisation: Option<u8>,
    /// Runnable tasks, averaged over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Where the environment of the programs comes from: `clean` or `inherited`. Empty in older files.
    #[serde(default)]
    pub environment_origin: String,
    /// Variables of the programs that are known to change how programs start, with their values or hashes of them.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// How many processors this process may use: its affinity mask and the limit of its control group count. At least 1.
pub fn available_processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

impl Machine {
    /// Reads the facts about this machine now.
    pub fn examine() -> Machine {
        let page_size = Some(Bytes(rustix::param::page_size() as u64));
        let environment = Environment::of_programs();
        Machine {
            page_size,
            environment_origin: environment.origin().name().to_owned(),
            environment: environment.record(),
            ..Machine::read(Path::new("/"))
        }
    }

    /// Reads them from the files below `root` (`proc(5)`, `Documentation/ABI/` of the kernel).
    fn read(root: &Path) -> Machine {
        let files = Files { root };

        Machine {
            cpu_model: cpu_model(&files),
            cores: files.line("sys/devices/system/cpu/online").and_then(|list| count(&list)),
            architecture: std::env::consts::ARCH.to_owned(),
            memory: memory(&files),
            kernel_release: files.line("proc/sys/kernel/osrelease"),
            page_size: None,
            mitigations: mitigations(&files),
            governor: governor(&files),
            virtualisation: virtualisation(&files),
            container: container(&files),
            clock_source: files.line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            transparent_huge_pages: files
                .line("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|line| chosen(&line)),
            address_randomisation: files
                .line("proc/sys/kernel/randomize_va_space")
                .and_then(|n| n.parse().ok()),
            load_average: load_average(&files),
            environment_origin: String::new(),
            environment: BTreeMap::new(),
        }
    }
}

/// The files of `/proc` and `/sys`.
struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.root.join(path)).ok()?;
        // Strings in a device tree end with a zero byte.
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    /// The first line; `None` if it is empty.
    fn line(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn is_there(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    fn entries(&self, folder: &str) -> Option<Vec<PathBuf>> {
        let mut found: Vec<PathBuf> =
            fs::read_dir(self.root.join(folder)).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        found.sort();
        Some(found)
    }
}

/// The value of a `key : value` line.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

fn cpu_model(files: &Files) -> Option<String> {
    let cpuinfo = files.text("proc/cpuinfo")?;
    let named = value(&cpuinfo, "model name").or_else(|| value(&cpuinfo, "uarch"));
    named.map(str::to_owned).or_else(|| files.line("sys/firmware/devicetree/base/model"))
}

/// How many numbers a list such as `0-3,6` contains (`cpuset(7)`, list format).
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |sum, part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        sum.checked_add(to.checked_sub(from)?.checked_add(1)?)
    })
}

fn memory(files: &Files) -> Option<Bytes> {
    let meminfo = files.text("proc/meminfo")?;
    let kib: u64 = value(&meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

fn mitigations(files: &Files) -> Option<BTreeMap<String, String>> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let named = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let state = files.line(&format!("{FOLDER}/{name}"))?;
        Some((name, state))
    };
    Some(files.entries(FOLDER)?.into_iter().filter_map(named).collect())
}

fn governor(files: &Files) -> Option<String> {
    let cpus = files.entries("sys/devices/system/cpu/cpufreq")?;
    let of = |path: &PathBuf| fs::read_to_string(path.join("scaling_governor")).ok();
    let mut names: Vec<String> = cpus.iter().filter_map(of).map(|name| name.trim().to_owned()).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A text in the firmware that identifies the maker of a virtual machine, and the usual name of its hypervisor.
const VENDORS: [(&str, &str); 8] = [
    ("QEMU", "KVM or QEMU"),
    ("Amazon EC2", "Amazon Nitro or Xen"),
    ("Google", "KVM"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Microsoft Corporation", "Hyper-V"),
    ("Parallels", "Parallels"),
];

/// Asks the guest's clock sources, Xen's own file and the firmware for the hypervisor's name, and the processor's
/// flag whether there is one. Processors without that flag (all but x86) give `None` unless a name is found.
fn virtualisation(files: &Files) -> Option<String> {
    let known = guest_clock(files).or_else(|| files.line("sys/hypervisor/type")).or_else(|| vendor(files));
    let cpuinfo = files.text("proc/cpuinfo")?;
    match value(&cpuinfo, "flags") {
        Some(flags) if flags.split_whitespace().any(|flag| flag == "hypervisor") => {
            Some(known.unwrap_or_else(|| "unknown hypervisor".to_owned()))
        }
        Some(_) => Some("none".to_owned()),
        None => known,
    }
}

fn guest_clock(files: &Files) -> Option<String> {
    let clocks = files.line("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let names = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    let known = names.iter().find(|(clock, _)| clocks.split_whitespace().any(|word| word.starts_with(clock)));
    known.map(|(_, name)| (*name).to_owned())
}

fn vendor(files: &Files) -> Option<String> {
    let maker = files.line("sys/class/dmi/id/sys_vendor")?;
    VENDORS.iter().find(|(text, _)| maker.contains(text)).map(|(_, name)| (*name).to_owned())
}

fn container(files: &Files) -> Option<String> {
    let marks = [(".dockerenv", "Docker"), ("run/.containerenv", "Podman"), ("run/.nspawn-host", "nspawn")];
    if let Some((_, name)) = marks.iter().find(|(path, _)| files.is_there(path)) {
        return Some((*name).to_owned());
    }
    let environment = files.text("proc/1/environ")?;
    let named = environment.split('\0').find_map(|variable| variable.strip_prefix("container="));
    Some(named.filter(|name| !name.is_empty()).unwrap_or("none").to_owned())
}

/// The word in brackets, as in `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

fn load_average(files: &Files) -> Option<[f64; 3]> {
    let line = files.line("proc/loadavg")?;
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The time of all processors together since the machine was booted, in ticks, from `/proc/stat` (`proc(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// How many processors there are.
    pub processors: usize,
    /// Time in which any program ran, or the kernel.
    pub busy: u64,
    /// Time in which a task here was ready to run but the host ran another guest.
    pub stolen: u64,
    /// The sum of all times.
    pub all: u64,
}

impl ProcessorTime {
    /// The time until now; `None` if the kernel does not report it.
    pub fn now() -> Option<ProcessorTime> {
        ProcessorTime::parse(&Files { root: Path::new("/") }.text("proc/stat")?)
    }

    fn parse(text: &str) -> Option<ProcessorTime> {
        let mut lines = text.lines();
        let numbers = lines.next()?.strip_prefix("cpu ")?.split_whitespace().map(|n| n.parse::<u64>().ok());
        // Guest time, in the last two fields, is part of user time.
        let ticks = numbers.take(8).collect::<Option<Vec<_>>>()?;
        let [user, nice, system, idle, waiting, hard, soft, stolen] = ticks[..] else { return None };
        let busy = user + nice + system + hard + soft;
        let processors = lines.take_while(|line| line.starts_with("cpu")).count();
        Some(ProcessorTime { processors, busy, stolen, all: busy + idle + waiting + stolen })
    }

    /// The time between `earlier` and now.
    #[must_use]
    pub fn since(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            processors: self.processors,
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all: self.all.saturating_sub(earlier.all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_has_the_processor_time_and_then_a_line_for_each_processor() {
        let at = |line| ProcessorTime::parse(&format!("{line}\ncpu0 1 2\ncpu1 3 4\nintr 5\n"));
        let before = at("cpu  10 0 10 70 0 0 0 10 5 0").unwrap();
        assert_eq!(before, ProcessorTime { processors: 2, busy: 20, stolen: 10, all: 100 });
        let after = at("cpu  60 1 10 70 5 2 3 60 5 0").unwrap();
        assert_eq!(after.since(before), ProcessorTime { processors: 2, busy: 56, stolen: 50, all: 111 });
        assert_eq!(before.since(after), ProcessorTime { processors: 2, busy: 0, stolen: 0, all: 0 });
        assert_eq!(
            (at("cpu  1 2 3"), at("cpu0 1 2 3 4 5 6 7 8"), at("cpu  x 1 1 1 1 1 1 1")),
            (None, None, None)
        );
    }

    fn machine(files: &[(&str, &str)]) -> Machine {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Machine::read(root.path())
    }

    #[test]
    fn missing_facts_are_null_and_never_invented() {
        let empty = machine(&[]);
        assert_eq!(empty, Machine { architecture: std::env::consts::ARCH.to_owned(), ..Machine::default() });
        let json = serde_json::to_value(&empty).unwrap();
        assert!(
            json["governor"].is_null() && json["mitigations"].is_null() && json["load_average"].is_null()
        );
        assert_eq!(serde_json::from_value::<Machine>(json).unwrap(), empty);
    }

    #[test]
    fn this_machine_has_a_page_size_a_kernel_and_processors() {
        let here = Machine::examine();
        assert!(here.page_size.unwrap().0.is_power_of_two());
        assert!(here.cores.unwrap() >= 1);
        assert!(here.kernel_release.is_some() && here.memory.unwrap().0 > 0);
    }

    #[test]
    fn files_of_a_guest_become_facts() {
        let guest = machine(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu hypervisor\n"),
            ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n"),
            ("proc/loadavg", "0.50 1.25 2.00 1/100 4242\n"),
            ("proc/1/environ", "HOME=/\0container=lxc\0"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("sys/devices/system/cpu/online", "0-3,6\n"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);

        assert_eq!(guest.cpu_model.as_deref(), Some("Fast CPU"));
        assert_eq!((guest.cores, guest.memory), (Some(5), Some(Bytes(1 << 20))));
        assert_eq!(guest.load_average, Some([0.5, 1.25, 2.0]));
        assert_eq!(guest.container.as_deref(), Some("lxc"));
        assert_eq!(guest.mitigations.unwrap()["meltdown"], "Not affected");
        assert_eq!(guest.governor.as_deref(), Some("performance, powersave"));
        assert_eq!(guest.virtualisation.as_deref(), Some("KVM"));
        assert_eq!(guest.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!(guest.address_randomisation, Some(2));
    }

    #[test]
    fn bare_metal_and_unknown_hypervisors_are_distinguished() {
        let kind = |flags: &str| machine(&[("proc/cpuinfo", flags)]).virtualisation;
        assert_eq!(kind("flags : fpu vme\n").as_deref(), Some("none"));
        assert_eq!(kind("flags : fpu hypervisor\n").as_deref(), Some("unknown hypervisor"));
        assert_eq!(kind("Features : fp asimd\n"), None);
    }

    #[test]
    fn broken_files_give_no_facts() {
        let broken = machine(&[
            ("proc/loadavg", "a lot\n"),
            ("proc/meminfo", "MemTotal: 99999999999999999999 kB\n"),
            ("sys/devices/system/cpu/online", "3-0,x\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
        ]);
        assert_eq!((broken.load_average, broken.memory, broken.cores), (None, None, None));
        assert_eq!(broken.transparent_huge_pages, None);
    }
}
