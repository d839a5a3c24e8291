//! The servers that are compared, each listening on a separate port, and the tools and records that they need.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use z3950_marc::Field;
use z3950_marc::iso2709;
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

/// The core for the servers; the load runs on another core.
pub(crate) const SERVER_CORE: &str = "0";
pub(crate) const LOAD_CORE: &str = "1";
/// The maximum time that a server may take to start.
const START: Duration = Duration::from_secs(600);

/// The benchmark tools, built for this run.
pub(crate) struct Tools {
    pub(crate) zbench: PathBuf,
    zcanned: PathBuf,
    folder: tempfile::TempDir,
    catalogues: RefCell<HashMap<usize, Rc<Catalogue>>>,
    /// The folders with Zebra's indexes, by number of records.
    registers: RefCell<HashMap<usize, PathBuf>>,
}

/// A file of generated records, with words for queries.
pub(crate) struct Catalogue {
    pub(crate) file: PathBuf,
    pub(crate) records: usize,
    pub(crate) octets: u64,
    /// Words in the titles: the most common one, the next most common one, and a rare one.
    pub(crate) words: [String; 3],
    /// Two words that are adjacent in some title.
    pub(crate) phrase: [String; 2],
}

/// A running server, which is stopped when the value is dropped.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) database: &'static str,
    /// The time from the start of the server to its first answer.
    pub(crate) started: Duration,
    child: Child,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    /// Returns the resident memory without the program's code, in octets.
    pub(crate) fn memory(&self) -> u64 {
        self.status("RssAnon:")
    }

    /// Returns the peak resident memory including the program's code, in octets.
    pub(crate) fn most_memory(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let kilobytes: Option<u64> = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        kilobytes.unwrap_or(0) * 1024
    }
}

impl Tools {
    /// Builds the tools. Prints a message and returns `None` if something is missing.
    pub(crate) fn find() -> Option<Self> {
        let sources = crate::shared().join("bench");
        let folder = tempfile::tempdir().expect("a folder");
        for program in ["cc", "python3", "taskset"] {
            z3950_tests::peer::find(program)?;
        }
        if !sources.join("zbench.c").is_file() {
            println!("skipped: no load tools in ../shared/bench");
            return None;
        }
        let compiled = ["zbench", "zcanned"].map(|name| {
            let program = folder.path().join(name);
            let status = command("cc")
                .args(["-O2", "-w", "-o"])
                .arg(&program)
                .arg(sources.join(format!("{name}.c")))
                .args(["-lyaz", "-lm"])
                .status();
            status
                .is_ok_and(|status| status.success())
                .then_some(program)
        });
        let [Some(zbench), Some(zcanned)] = compiled else {
            println!("skipped: the load tools cannot be compiled; libyaz-dev is needed");
            return None;
        };
        Some(Self {
            zbench,
            zcanned,
            folder,
            catalogues: RefCell::default(),
            registers: RefCell::default(),
        })
    }

    /// Returns a file with this number of generated records.
    pub(crate) fn catalogue(&self, records: usize) -> Rc<Catalogue> {
        if let Some(known) = self.catalogues.borrow().get(&records) {
            return Rc::clone(known);
        }
        let file = self.folder.path().join(format!("{records}.mrc"));
        let shared = crate::shared();
        let status = command("python3")
            .arg(shared.join("bench/gen.py"))
            .arg(records.to_string())
            .arg(&file)
            .arg(shared.join("data/marc/loc-utf8.mrc"))
            .status()
            .expect("python3 starts");
        assert!(status.success(), "the records are generated");
        let catalogue = Rc::new(Catalogue::of(file, records));
        self.catalogues
            .borrow_mut()
            .insert(records, Rc::clone(&catalogue));
        catalogue
    }

    /// Writes a file with copies of yaz-ztest's first record, each with a different control number.
    pub(crate) fn like_ztest(&self, ztest: &Peer, records: usize) -> Option<Catalogue> {
        let output = command(path("z3950"))
            .args(["search", &format!("127.0.0.1:{}/Default", ztest.port)])
            .args(["@attr 1=12 1", "--format", "marc"])
            .output()
            .expect("z3950 starts");
        let mut record = iso2709::parse(&Bytes::from(output.stdout)).ok()?.record;
        let file = self.folder.path().join("like-ztest.mrc");
        let mut octets = Vec::new();
        for number in 1..=records {
            let control = record.fields.first_mut()?;
            *control = Field::control(b"001", format!("rec{number:07}"));
            octets.extend(iso2709::encode(&record).ok()?);
        }
        fs::write(&file, octets).expect("written");
        Some(Catalogue::of(file, records))
    }

    /// Starts this project's server on one core.
    pub(crate) fn z3950d(&self, catalogue: &Catalogue) -> Option<Peer> {
        self.ours(Some(catalogue), true)
    }

    /// Starts this project's server on all cores, to measure how long it takes to load the records.
    pub(crate) fn z3950d_unpinned(&self, catalogue: &Catalogue) -> Option<Peer> {
        self.ours(Some(catalogue), false)
    }

    /// Starts this project's server on one core with the demo catalogue.
    pub(crate) fn demo(&self) -> Option<Peer> {
        self.ours(None, true)
    }

    fn ours(&self, catalogue: Option<&Catalogue>, pinned: bool) -> Option<Peer> {
        start("z3950d", "Default", |port| {
            let mut command = if pinned {
                on_core(&path("z3950d"))
            } else {
                command(path("z3950d"))
            };
            command.args([
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--sessions",
                "20000",
            ]);
            match catalogue {
                Some(catalogue) => command
                    .arg("--database")
                    .arg(format!("Default={}", catalogue.file.display())),
                None => command.arg("--demo"),
            };
            command
        })
    }

    /// Starts a responder that sends prepared answers. Its results are an upper bound for this machine.
    pub(crate) fn zcanned(
        &self,
        catalogue: &Catalogue,
        chunk: usize,
        piggyback: bool,
    ) -> Option<Peer> {
        start("zcanned", "Default", |port| {
            let mut command = on_core(&self.zcanned);
            command.arg(port.to_string()).arg(&catalogue.file);
            command.args(["-k", &chunk.to_string()]);
            if piggyback {
                command.arg("-p");
            }
            command
        })
    }

    /// Starts yaz-ztest with the option `-S` (one process) or `-T` (threads).
    pub(crate) fn ztest(&self, model: &'static str) -> Option<Peer> {
        let program = z3950_tests::peer::find("yaz-ztest")?;
        let name = if model == "-T" {
            "yaz-ztest -T"
        } else {
            "yaz-ztest -S"
        };
        let folder = self.folder.path().to_owned();
        fs::write(folder.join("dummy-words"), "war:3\n").expect("written");
        start(name, "Default", |port| {
            let mut command = on_core(&program);
            command.current_dir(&folder).args(["-v", "none", model]);
            command.arg(format!("tcp:127.0.0.1:{port}"));
            command
        })
    }

    /// Starts zebrasrv in one process, with the records indexed by zebraidx.
    pub(crate) fn zebra(&self, catalogue: &Catalogue) -> Option<Peer> {
        let program = z3950_tests::peer::find("zebrasrv")?;
        if !self.registers.borrow().contains_key(&catalogue.records) {
            self.zebraidx(catalogue)?;
        }
        let register = self.registers.borrow().get(&catalogue.records)?.clone();
        start("zebrasrv -S", "Default", |port| {
            let mut command = on_core(&program);
            command
                .current_dir(&register)
                .args(["-v", "none", "-S", "-c", "zebra.cfg"]);
            command.arg(format!("tcp:127.0.0.1:{port}"));
            command
        })
    }

    /// Rebuilds Zebra's index and returns the time that this took.
    pub(crate) fn zebraidx(&self, catalogue: &Catalogue) -> Option<Duration> {
        let program = z3950_tests::peer::find("zebraidx")?;
        let register = self
            .folder
            .path()
            .join(format!("zebra-{}", catalogue.records));
        let _ = fs::remove_dir_all(&register);
        fs::create_dir(&register).expect("a folder");
        z3950_tests::peer::configure_zebra(&register, "50G");
        fs::hard_link(&catalogue.file, register.join("records/all.mrc")).expect("linked");
        let began = Instant::now();
        for arguments in [&["init"][..], &["update", "records"], &["commit"]] {
            let output = command(&program)
                .current_dir(&register)
                .args(["-v", "log", "-c", "zebra.cfg"])
                .args(arguments)
                .output()
                .expect("zebraidx starts");
            let log = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() || arguments == ["commit"],
                "zebraidx: {log}"
            );
        }
        let time = began.elapsed();
        self.registers
            .borrow_mut()
            .insert(catalogue.records, register);
        Some(time)
    }
}

impl Catalogue {
    fn of(file: PathBuf, records: usize) -> Self {
        let octets = fs::metadata(&file).expect("the file exists").len();
        let mut sample = Vec::new();
        fs::File::open(&file)
            .and_then(|file| file.take(4 << 20).read_to_end(&mut sample))
            .expect("the file can be read");
        let titles: Vec<Vec<String>> = iso2709::split(Bytes::from(sample))
            .filter_map(|octets| iso2709::parse(&octets).ok())
            .filter_map(|parsed| {
                let field = parsed.record.fields_by_tag("245").next()?;
                let title = field.subfields().next()?;
                let text = String::from_utf8_lossy(title.data).to_lowercase();
                Some(
                    text.split_whitespace()
                        .filter(|word| word.len() > 4)
                        .map(str::to_owned)
                        .collect(),
                )
            })
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in titles.iter().flatten() {
            if word.chars().all(|letter| letter.is_ascii_alphabetic()) {
                *counts.entry(word).or_default() += 1;
            }
        }
        let mut words: Vec<(&str, usize)> = counts.into_iter().collect();
        words.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        let word = |index: usize| words[index.min(words.len() - 1)].0.to_owned();
        let phrase = titles.iter().find_map(|title| {
            let pair = title.windows(2).find(|pair| pair[0] == words[0].0)?;
            Some([pair[0].clone(), pair[1].clone()])
        });
        Self {
            words: [word(0), word(1), word(words.len() / 2)],
            phrase: phrase.unwrap_or_else(|| [word(0), word(1)]),
            file,
            records,
            octets,
        }
    }
}

fn on_core(program: &Path) -> Command {
    let mut command = command("taskset");
    command.args(["-c", SERVER_CORE]).arg(program);
    command
}

/// Starts a server and waits until it answers an Init.
fn start(
    name: &'static str,
    database: &'static str,
    command: impl FnOnce(u16) -> Command,
) -> Option<Peer> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    drop(listener);
    let began = Instant::now();
    let mut child = command(port)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    while began.elapsed() < START {
        if answers(port) {
            let started = began.elapsed();
            return Some(Peer {
                name,
                port,
                database,
                started,
                child,
            });
        }
        if let Ok(Some(status)) = child.try_wait() {
            let errors = child.stderr.take().map(|errors| {
                let lines = BufReader::new(errors).lines().map_while(Result::ok);
                lines.collect::<Vec<_>>().join("\n")
            });
            println!("{name} ended, {status}: {}", errors.unwrap_or_default());
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let _ = child.kill();
    let _ = child.wait();
    println!("{name} does not answer");
    None
}

fn answers(port: u16) -> bool {
    /// An initRequest that proposes versions 1 to 3.
    const INIT: &[u8] = b"\xb4\x1a\x83\x02\x00\xe0\x84\x03\x00\xe9\xa2\x85\x04\x04\x00\x00\x00\
        \x86\x04\x04\x00\x00\x00\x9f\x6e\x0281";
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut octet = [0];
    stream.write_all(INIT).is_ok() && stream.read_exact(&mut octet).is_ok()
}
