//! Runs OpenSearch as a peer: nodes on free ports of the loopback address, from Maven Central packages. `Z3950_ENGINE` names the
//! folder that `opensearch/prepare` has filled. If the variable is not set, a folder in the build folder is filled, provided that
//! Java and Maven are available.
//!
//! All tests of a program share a cluster of three nodes, in which each test has its own indexes. Tests that damage nodes share
//! another cluster. When the test program exits, the nodes exit too, because their standard input is closed.

pub mod gate;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::peer;
use crate::ports::pairs_of_ports;
use crate::surroundings::command;

/// A cluster whose nodes are named `n1`, `n2` and so on. Its folder is removed by the nodes when they exit.
#[derive(Debug)]
pub struct Cluster {
    program: NodeProgram,
    folder: PathBuf,
    nodes: Vec<EngineNode>,
}

/// The files that are needed to run a node: the Java program, and a folder with `jars` and `classes`.
#[derive(Clone, Debug)]
pub struct NodeProgram {
    java: PathBuf,
    folder: PathBuf,
    /// The command-line options of Java.
    options: &'static [&'static str],
}

/// Options for nodes that start quickly.
const FOR_TESTS: &[&str] = &[
    "-Xms384m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    // The optimising compiler would take more time than it saves in short tests.
    "-XX:TieredStopAtLevel=1",
];
/// Options for nodes that answer quickly.
const FOR_MEASURING: &[&str] = &[
    "-Xms768m",
    "-Xmx768m",
    // These are the settings of the OpenSearch distribution. With any other garbage collector, nodes count garbage as memory in
    // use, and refuse requests.
    "-XX:+UseG1GC",
    "-XX:G1ReservePercent=25",
    "-XX:InitiatingHeapOccupancyPercent=30",
];

#[derive(Debug)]
struct EngineNode {
    name: String,
    port: u16,
    child: Option<Child>,
}

const JSON: &str = "application/json";
/// The number of nodes of the cluster that tests may damage.
const NODES_TO_DAMAGE: usize = 3;
/// Parameters of a health request that waits until all shards of all indexes are assigned.
const GREEN: &str = "wait_for_status=green&wait_for_no_relocating_shards=true";
/// The maximum time that nodes may take to start, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

impl NodeProgram {
    /// Returns OpenSearch 2. If it is not available, prints a message and returns `None`.
    ///
    /// # Panics
    /// Panics if it is not available and `Z3950_PEERS=required`.
    pub fn of_two() -> Option<Self> {
        static FOUND: OnceLock<Option<NodeProgram>> = OnceLock::new();
        let found = || {
            let java = peer::find("java")?;
            let folder = match std::env::var_os("Z3950_ENGINE") {
                Some(folder) => PathBuf::from(folder),
                None => prepared("opensearch", "opensearch/prepare", &["2"], None)?,
            };
            Some(Self {
                java,
                folder,
                options: FOR_TESTS,
            })
        };
        FOUND.get_or_init(found).clone()
    }

    /// Returns OpenSearch 3, which needs Java 21 or later. If it is not available, prints a message and returns `None`.
    pub fn of_three() -> Option<Self> {
        static FOUND: OnceLock<Option<NodeProgram>> = OnceLock::new();
        let found = || {
            let Some(home) = later_java() else {
                peer::mention("Java 21 or later");
                return None;
            };
            let folder = match std::env::var_os("Z3950_ENGINE_3") {
                Some(folder) => PathBuf::from(folder),
                None => prepared("opensearch-3", "opensearch/prepare", &["3"], Some(&home))?,
            };
            let java = home.join("bin/java");
            Some(Self {
                java,
                folder,
                options: FOR_TESTS,
            })
        };
        FOUND.get_or_init(found).clone()
    }

    /// Returns OpenSearch 2 with the plugin that Koha's index needs, from the folder that `koha/prepare` has filled and that
    /// `Z3950_KOHA` may name. If it is not available, prints a message and returns `None`.
    ///
    /// # Panics
    /// Panics if it is not available and `Z3950_PEERS=required`.
    pub fn for_koha() -> Option<Self> {
        static FOUND: OnceLock<Option<NodeProgram>> = OnceLock::new();
        let found = || {
            let java = peer::find("java")?;
            let folder = match std::env::var_os("Z3950_KOHA") {
                Some(folder) => PathBuf::from(folder),
                None => prepared("koha", "koha/prepare", &[], None)?,
            };
            Some(Self {
                java,
                folder,
                options: FOR_TESTS,
            })
        };
        FOUND.get_or_init(found).clone()
    }

    /// Returns the same program with options that make nodes answer as quickly as possible.
    #[must_use]
    pub fn for_measuring(self) -> Self {
        Self {
            options: FOR_MEASURING,
            ..self
        }
    }
}

/// Returns the folder of a Java installation that is recent enough for OpenSearch 3.
fn later_java() -> Option<PathBuf> {
    let homes = std::env::var_os("Z3950_JAVA").map(PathBuf::from);
    let known = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let known = known.flatten().map(|entry| entry.path());
    homes.into_iter().chain(known).find(|home| {
        let text = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("JAVA_VERSION=\""));
        let major = version.and_then(|version| version.split(['.', '"']).next()?.parse().ok());
        major.is_some_and(|major: u32| major >= 21)
    })
}

/// Runs a script next to this file, which fills a folder in the build folder unless the folder has already been filled.
pub(crate) fn prepared(
    name: &str,
    script: &str,
    arguments: &[&str],
    java: Option<&Path>,
) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test program has a path");
    let target = test.ancestors().nth(3).expect("the build folder");
    let folder = target.join("peers").join(name);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut prepare = command(scripts.join(script));
    prepare
        .arg(&folder)
        .args(arguments)
        .envs(java.map(|java| ("JAVA_HOME", java)));
    let ended = prepare.output().expect("sh starts");
    if ended.status.success() {
        return Some(folder);
    }
    let words = String::from_utf8_lossy(&ended.stderr).into_owned();
    peer::skip(&format!("{name} ({})", words.trim()));
    None
}

impl Cluster {
    /// Returns the cluster of three nodes that is shared by all tests, or `None` if it is not available. Tests must not damage
    /// it.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let started = || Some(Self::start(&NodeProgram::of_two()?, 3));
        SHARED.get_or_init(started).as_ref()
    }

    /// Returns the OpenSearch 3 node that is shared by all tests, or `None` if it is not available.
    pub fn of_three() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let started = || Some(Self::start(&NodeProgram::of_three()?, 1));
        SHARED.get_or_init(started).as_ref()
    }

    /// Returns a cluster of three running nodes that one test at a time may damage, or `None` if it is not available.
    pub fn to_damage() -> Option<MutexGuard<'static, Self>> {
        static DAMAGED: OnceLock<Option<Mutex<Cluster>>> = OnceLock::new();
        let started = || {
            let cluster = Self::start(&NodeProgram::of_two()?, NODES_TO_DAMAGE);
            Some(Mutex::new(cluster))
        };
        let cluster = DAMAGED.get_or_init(started).as_ref()?;
        let mut cluster = cluster.lock().unwrap_or_else(PoisonError::into_inner);
        cluster.mend();
        Some(cluster)
    }

    /// Starts a cluster.
    ///
    /// # Panics
    /// Panics if its nodes do not start.
    pub fn start(program: &NodeProgram, nodes: usize) -> Self {
        let folder = tempfile::Builder::new().prefix("engine-").tempdir();
        let ports = pairs_of_ports(nodes);
        let numbered = (1..).zip(&ports);
        let mut cluster = Self {
            program: program.clone(),
            // The nodes remove the folder. A destructor would not suffice, because a cluster that lives until the program ends is
            // never dropped.
            folder: folder.expect("a folder").keep(),
            nodes: numbered
                .map(|(number, port)| EngineNode {
                    name: format!("n{number}"),
                    port: *port,
                    child: None,
                })
                .collect(),
        };
        for node in 0..nodes {
            cluster.spawn(node);
        }
        cluster.wait_for_nodes();
        cluster
    }

    /// Returns the addresses of this index at all nodes, in the form in which they are configured in z3950d.
    pub fn urls(&self, index: &str) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes
            .map(|node| format!("http://127.0.0.1:{}/{index}", node.port))
            .collect()
    }

    /// Returns the tables of a settings file that defines the database `books` with this index. `lines` are additional lines of
    /// the database's table.
    pub fn settings(&self, index: &str, lines: &str) -> String {
        let urls = self.urls(index);
        format!("[[database]]\nname = \"books\"\nengine = {urls:?}\n{lines}\n")
    }

    /// Returns the requests that the nodes have received, each as a method and a path. The nodes must have the plugin for Koha.
    pub fn requests(&self) -> Vec<String> {
        let logs = self.nodes.iter().map(|node| {
            let file = self.folder.join(&node.name).join("logs/requests");
            std::fs::read_to_string(file).unwrap_or_default()
        });
        logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// Returns the lines of the nodes' logs that contain this text.
    pub fn logged(&self, text: &str) -> Vec<String> {
        let logs = self.nodes.iter().map(|node| {
            let file = self.folder.join(format!("{}.log", node.name));
            std::fs::read_to_string(file).unwrap_or_default()
        });
        let lines = logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|line| line.contains(text)).collect()
    }

    /// Returns the HTTP ports of the nodes.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port).collect()
    }

    /// Sends a request to the first node that accepts a connection. Returns the status and the answer.
    ///
    /// # Panics
    /// Panics if no node answers.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for node in &self.nodes {
                if let Ok(answer) = ask(node.port, JSON, method, path, body) {
                    return answer;
                }
            }
            crate::pause();
        }
        panic!("no node answers {method} {path}");
    }

    /// Waits until all shards of all indexes are assigned.
    ///
    /// # Panics
    /// Panics if this takes minutes.
    pub fn wait_for_green(&self) {
        self.wait_for_health(GREEN, PATIENCE)
            .expect("a green cluster");
    }

    /// Waits until the cluster consists of this number of nodes.
    ///
    /// # Panics
    /// Panics if this takes minutes.
    pub fn wait_for_count(&self, nodes: usize) {
        let wanted = format!("wait_for_nodes={nodes}");
        self.wait_for_health(&wanted, PATIENCE).expect("the nodes");
    }

    /// Requests the health of the cluster until it meets this condition. Refused requests are repeated, because a cluster without
    /// a manager refuses them.
    ///
    /// # Errors
    /// The condition is not met in time. The error is the last answer.
    fn wait_for_health(&self, wanted: &str, patience: Duration) -> Result<(), String> {
        let path = format!("/_cluster/health?{wanted}&timeout=1s");
        let deadline = Instant::now() + patience;
        loop {
            let (status, health) = self.ask("GET", &path, "");
            if status == 200 && health["timed_out"] == false {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{status} {health}"));
            }
            // On a busy machine, assigning a shard may fail so often that the cluster stops trying.
            self.ask("POST", "/_cluster/reroute?retry_failed=true", "");
        }
    }

    /// Kills a node, as if its machine had lost power.
    pub fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].child.take() {
            // An error means that the node has already ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts a node that was killed, with its data, and waits until it has joined the cluster.
    pub fn restart(&mut self, node: usize) {
        self.kill(node);
        self.spawn(node);
        self.wait_for_nodes();
    }

    /// Starts nodes that were killed, if any, with their data, and waits until all shards of all indexes are assigned.
    ///
    /// OpenSearch may wait forever for a node that has just joined to report which shards it has (`number_of_in_flight_fetch`).
    /// In this case, all nodes are restarted.
    ///
    /// # Panics
    /// Panics if this takes minutes.
    pub fn recover(&mut self, killed: &[usize]) {
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        let mut outcome = Ok(());
        for nodes in [killed, &all, &all] {
            for node in nodes {
                self.kill(*node);
            }
            for node in nodes {
                self.spawn(*node);
            }
            self.wait_for_nodes();
            outcome = self.wait_for_health(GREEN, PATIENCE / 3);
            if outcome.is_ok() {
                break;
            }
        }
        outcome.expect("a green cluster");
    }

    /// Adds a node without data, and waits until it has joined the cluster.
    pub fn add(&mut self) {
        let number = self.nodes.len() + 1;
        self.nodes.push(EngineNode {
            name: format!("n{number}"),
            port: pairs_of_ports(1)[0],
            child: None,
        });
        self.spawn(number - 1);
        self.wait_for_nodes();
    }

    /// Sends a signal to a node by name, such as `STOP`.
    ///
    /// # Panics
    /// Panics if the node is not running.
    pub fn signal(&self, node: usize, name: &str) {
        let child = self.nodes[node].child.as_ref().expect("it runs");
        let status = command("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &child.id().to_string()])
            .status();
        assert!(status.expect("sh starts").success(), "the signal is sent");
    }

    /// Restores the cluster after an earlier test. Starts the nodes that the test has killed, resumes the nodes that it has
    /// suspended, and removes its indexes and the nodes that it has added.
    fn mend(&mut self) {
        for node in 0..self.nodes.len() {
            match &self.nodes[node].child {
                Some(_) => self.signal(node, "CONT"),
                None => self.spawn(node),
            }
        }
        self.wait_for_nodes();
        while self.nodes.len() > NODES_TO_DAMAGE {
            self.kill(self.nodes.len() - 1);
            self.nodes.pop();
        }
        self.wait_for_nodes();
        let (status, answer) = self.ask("DELETE", "/_all", "");
        assert_eq!(status, 200, "{answer}");
    }

    /// Starts a node without waiting until it has joined the cluster.
    fn spawn(&mut self, number: usize) {
        let of_all = |value: fn(&EngineNode) -> String| {
            self.nodes.iter().map(value).collect::<Vec<_>>().join(",")
        };
        let transport = of_all(|node| (node.port + 1).to_string());
        let names = of_all(|node| node.name.clone());
        let node = &self.nodes[number];
        let NodeProgram {
            java,
            folder,
            options,
        } = &self.program;
        let log = self.folder.join(format!("{}.log", node.name));
        let log = File::options().create(true).append(true).open(log);
        let log = log.expect("a log");
        let words = log.try_clone().expect("a log");
        let child = command(java)
            .arg("-XX:ActiveProcessorCount=2")
            .args(*options)
            .args([
                "-Djna.nosys=true",
                "-Dio.netty.noUnsafe=true",
                "-Dlog4j2.disable.jmx=true",
                // The log shows problems in the node, such as requests that it cannot carry out.
                "-Dlog4j2.level=WARN",
            ])
            .args([
                "-Dopensearch.set.netty.runtime.available.processors=false",
                "-Dfile.encoding=UTF-8",
            ])
            .arg("-cp")
            .arg(format!("{0}/classes:{0}/jars/*", folder.display()))
            .arg("EngineNode")
            .arg(&node.name)
            .arg(self.folder.join(&node.name))
            .args([
                node.port.to_string(),
                (node.port + 1).to_string(),
                transport,
                names,
            ])
            .stdin(Stdio::piped())
            .stdout(words)
            .stderr(log)
            .spawn()
            .expect("java starts");
        self.nodes[number].child = Some(child);
    }

    /// Waits until all running nodes have joined the cluster.
    fn wait_for_nodes(&mut self) {
        let running = self
            .nodes
            .iter()
            .filter(|node| node.child.is_some())
            .count();
        let path = format!("/_cluster/health?wait_for_nodes={running}&timeout=1s");
        let deadline = Instant::now() + PATIENCE;
        let is_complete = |answer: std::io::Result<(u16, Value)>| {
            answer
                .is_ok_and(|(status, health)| status == 200 && health["number_of_nodes"] == running)
        };
        while !self
            .nodes
            .iter()
            .all(|node| node.child.is_none() || is_complete(ask(node.port, JSON, "GET", &path, "")))
        {
            for node in &mut self.nodes {
                let ended = node
                    .child
                    .as_mut()
                    .and_then(|child| child.try_wait().expect("asked"));
                if let Some(status) = ended {
                    let log =
                        std::fs::read_to_string(self.folder.join(format!("{}.log", node.name)));
                    panic!(
                        "{} ended with {status}: {}",
                        node.name,
                        log.unwrap_or_default()
                    );
                }
            }
            assert!(
                Instant::now() < deadline,
                "the nodes do not find each other"
            );
            crate::pause();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            self.kill(node);
        }
        // Files left in the temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns an index name that no other test uses.
pub fn own_index(name: &str) -> String {
    static TURN: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}", TURN.fetch_add(1, Ordering::Relaxed))
}

/// Sends a request to a port of the loopback address. Returns the status and the answer, which is null if it is not JSON.
pub(crate) fn ask(
    port: u16,
    content_type: &str,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other(line.clone()))?;
    while !line.trim().is_empty() {
        line.clear();
        answer.read_line(&mut line)?;
    }
    let mut octets = Vec::new();
    answer.read_to_end(&mut octets)?;
    Ok((
        status,
        serde_json::from_slice(&octets).unwrap_or(Value::Null),
    ))
}
