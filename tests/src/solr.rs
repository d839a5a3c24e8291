//! Runs Solr as a peer: nodes on free ports of the loopback address, from Maven Central packages, with the collection
//! configurations in `solr`. `Z3950_SOLR` names the folder that `solr/prepare` has filled. If the variable is not set, a folder
//! in the build folder is filled, provided that Java and Maven are available.
//!
//! All tests of a program share two nodes, on which each test has its own collections. Tests that stop nodes share two other
//! nodes, and tests of a server without a cluster share one such server. When the test program exits, the nodes exit too, because
//! their standard input is closed.

mod documents;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

pub use self::documents::{RecordForm, blacklight_document, vufind_document};
use crate::opensearch::{PATIENCE, ask, prepared};
use crate::peer;
use crate::ports::pairs_of_ports;
use crate::surroundings::command;

/// The nodes of a cluster, which run in one process.
#[derive(Debug)]
pub struct SolrNodes {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    ports: Vec<u16>,
    running: Vec<bool>,
    folder: PathBuf,
    is_cluster: bool,
}

/// Options for nodes that start quickly.
const FOR_TESTS: &[&str] = &[
    "-Xms384m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    // The optimising compiler would take more time than it saves in short tests.
    "-XX:TieredStopAtLevel=1",
];
/// Options for nodes that answer quickly, with Solr's default garbage collector.
const FOR_MEASURING: &[&str] = &["-Xms768m", "-Xmx768m", "-XX:+UseG1GC"];
/// The folders with collection configurations. The last one is not meant for library records.
const CONFIGURATIONS: [&str; 3] = ["vufind", "blacklight", "other"];

/// The name and password of the user who has read access to the server that does not belong to a cluster.
pub const READER: &str = "reader:SolrRocks";
/// The name and password of a user who does not have read access.
pub const STRANGER: &str = "stranger:SolrRocks";
/// The password of both users in the form in which Solr stores it: a hash and a salt.
const HASHED: &str =
    "IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c=";

/// The program for whose fields a collection is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolrShape {
    /// VuFind.
    VuFind,
    /// Blacklight.
    Blacklight,
}

impl SolrShape {
    /// Returns the name of the configuration, which is also the name of the corresponding map in the settings of z3950d.
    pub fn name(self) -> &'static str {
        match self {
            Self::VuFind => "vufind",
            Self::Blacklight => "blacklight",
        }
    }
}

impl SolrNodes {
    /// Returns the two nodes that are shared by all tests. If they are not available, prints a message and returns `None`. Tests
    /// must not damage them.
    ///
    /// # Panics
    /// Panics if they are not available and `Z3950_PEERS=required`.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<SolrNodes>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(2, FOR_TESTS)).as_ref()
    }

    /// Returns two running nodes that one test at a time may stop, or `None` if they are not available.
    ///
    /// # Panics
    /// Panics if they are not available and `Z3950_PEERS=required`.
    pub fn to_damage() -> Option<MutexGuard<'static, Self>> {
        static DAMAGED: OnceLock<Option<Mutex<SolrNodes>>> = OnceLock::new();
        let nodes = DAMAGED.get_or_init(|| Self::start(2, FOR_TESTS).map(Mutex::new));
        let mut nodes = nodes
            .as_ref()?
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for node in 0..nodes.ports.len() {
            nodes.start_node(node);
        }
        Some(nodes)
    }

    /// Returns a node with options that make it answer as quickly as possible, or `None` if it is not available.
    ///
    /// # Panics
    /// Panics if it is not available and `Z3950_PEERS=required`.
    pub fn for_measuring() -> Option<Self> {
        Self::start(1, FOR_MEASURING)
    }

    /// Returns a server that does not belong to a cluster and to which only [`READER`] has read access, or `None` if it is not
    /// available.
    ///
    /// # Panics
    /// Panics if it is not available and `Z3950_PEERS=required`.
    pub fn alone() -> Option<&'static Self> {
        static ALONE: OnceLock<Option<SolrNodes>> = OnceLock::new();
        ALONE.get_or_init(|| Self::start(0, FOR_TESTS)).as_ref()
    }

    /// Starts a cluster with this number of nodes. If the number is 0, starts a server that does not belong to a cluster.
    fn start(in_cluster: usize, options: &[&str]) -> Option<Self> {
        let is_cluster = in_cluster > 0;
        let number = in_cluster.max(1);
        let java = peer::find("java")?;
        let program = match std::env::var_os("Z3950_SOLR") {
            Some(folder) => PathBuf::from(folder),
            None => prepared("solr", "solr/prepare", &[], None)?,
        };
        // The temporary folder is not deleted here, because the nodes delete it when they end.
        let folder = tempfile::tempdir().expect("a folder").keep();
        let log = File::create(folder.join("log")).expect("a log");
        let pairs = pairs_of_ports(number + 1);
        let (zoo_keeper, ports) = pairs.split_first().expect("ports");
        let configurations = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/solr");
        let shown = ports.iter().map(u16::to_string).collect::<Vec<_>>();
        let zoo_keeper = if is_cluster { *zoo_keeper } else { 0 };
        let mut child = command(java)
            .arg("-XX:ActiveProcessorCount=2")
            .args(options)
            .arg("-Dfile.encoding=UTF-8")
            .arg(format!(
                "-Dlog4j2.configurationFile={}",
                configurations.join("log4j2.xml").display()
            ))
            .arg(format!("-Dsecurity={}", security()))
            .arg("-cp")
            .arg(format!("{0}/classes:{0}/jars/*", program.display()))
            .arg("SolrNodes")
            .arg(&folder)
            .args([zoo_keeper.to_string(), shown.join(",")])
            .args(CONFIGURATIONS.map(|name| configurations.join(name)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("java starts");
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut nodes = Self {
            child,
            commands,
            answers,
            running: vec![true; number],
            ports: ports.to_vec(),
            folder,
            is_cluster,
        };
        nodes.wait_for("ready");
        Some(nodes)
    }

    /// Waits until the process prints this line.
    fn wait_for(&mut self, line: &str) {
        let mut read = String::new();
        while read.trim_end() != line {
            read.clear();
            if self.answers.read_line(&mut read).expect("readable") == 0 {
                panic!("the nodes of Solr ended: {}", self.logged());
            }
        }
    }

    fn logged(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Returns the log lines of the nodes that concern a collection: requests and errors. Requests from one node to another are
    /// left out.
    pub fn log(&self, collection: &str) -> Vec<String> {
        let is_of = |line: &&str| {
            let mut words = line.split(' ').skip(1).take(2);
            words.any(|word| word == collection) && !line.contains("distrib=false")
        };
        self.logged()
            .lines()
            .filter(is_of)
            .map(str::to_owned)
            .collect()
    }

    /// Creates a collection with a shard on each node or, if there is no cluster, a core. Returns its name, which no other test
    /// uses.
    ///
    /// # Panics
    /// Panics if the nodes refuse the request.
    pub fn create(&self, shape: SolrShape, name: &str) -> String {
        self.create_of(shape.name(), name)
    }

    /// Creates a collection with the configuration in a folder next to this file. Returns the name of the collection.
    ///
    /// # Panics
    /// Panics if the nodes refuse the request.
    pub fn create_of(&self, configuration: &str, name: &str) -> String {
        static TURN: AtomicU32 = AtomicU32::new(0);
        let name = format!("{name}-{}", TURN.fetch_add(1, Ordering::Relaxed));
        let path = if self.is_cluster {
            let shards = self.ports.len();
            format!(
                "/solr/admin/collections?action=CREATE&name={name}&numShards={shards}&collection.configName={configuration}&wt=json"
            )
        } else {
            format!("/solr/admin/cores?action=CREATE&name={name}&configSet={configuration}&wt=json")
        };
        let (status, answer) = self.ask("GET", &path, "");
        assert_eq!(status, 200, "{answer}");
        name
    }

    /// Adds documents to a collection, and makes them visible.
    ///
    /// # Panics
    /// Panics if the nodes refuse the documents.
    pub fn load(&self, collection: &str, documents: &[Value]) {
        let path = format!("/solr/{collection}/update?wt=json");
        let send = |options: &str, body: &str| {
            let (status, answer) = self.ask("POST", &format!("{path}{options}"), body);
            assert_eq!(status, 200, "{answer}");
        };
        for some in documents.chunks(1_000) {
            send("", &Value::Array(some.to_vec()).to_string());
        }
        send("&commit=true", "[]");
    }

    /// Removes documents from a collection.
    ///
    /// # Panics
    /// Panics if the nodes refuse the request.
    pub fn delete(&self, collection: &str, ids: &[&str]) {
        let path = format!("/solr/{collection}/update?commit=true&wt=json");
        let body = serde_json::json!({ "delete": ids }).to_string();
        let (status, answer) = self.ask("POST", &path, &body);
        assert_eq!(status, 200, "{answer}");
    }

    /// Moves an alias to a collection.
    ///
    /// # Panics
    /// Panics if the nodes refuse the request.
    pub fn set_alias(&self, alias: &str, collection: &str) {
        let path = format!(
            "/solr/admin/collections?action=CREATEALIAS&name={alias}&collections={collection}&wt=json"
        );
        let (status, answer) = self.ask("GET", &path, "");
        assert_eq!(status, 200, "{answer}");
    }

    /// Returns the addresses of a collection at all nodes, in the form in which they are configured in z3950d.
    pub fn urls(&self, collection: &str) -> Vec<String> {
        let ports = self.ports.iter();
        ports
            .map(|port| format!("http://127.0.0.1:{port}/solr/{collection}"))
            .collect()
    }

    /// Returns the HTTP ports of the nodes.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Sends a request to the first running node. Returns the status and the answer, which is null if it is not JSON.
    ///
    /// # Panics
    /// Panics if the node does not answer.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        self.ask_of_type("application/json", method, path, body)
    }

    /// Sends a request whose body has a media type other than JSON.
    ///
    /// # Panics
    /// Panics if there is no answer.
    pub fn ask_of_type(
        &self,
        content_type: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, Value) {
        let mut nodes = self.ports.iter().zip(&self.running);
        let found = nodes.find(|(_, is_running)| **is_running);
        let (port, _) = found.expect("a node runs");
        let answer = ask(*port, content_type, method, path, body);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Waits until searches in a collection find this number of documents.
    ///
    /// # Panics
    /// Panics if this takes minutes.
    pub fn wait_for_documents(&self, collection: &str, number: usize) {
        let path = format!("/solr/{collection}/select?q=*:*&rows=0");
        let deadline = Instant::now() + PATIENCE;
        while self.ask("GET", &path, "").1["response"]["numFound"] != number {
            assert!(
                Instant::now() < deadline,
                "{collection} shows {number} documents"
            );
            crate::pause();
        }
    }

    /// Stops a node. Its shards are not available until it starts again.
    pub fn stop_node(&mut self, node: usize) {
        self.obey("stop", node);
        self.running[node] = false;
    }

    /// Starts a node that was stopped.
    pub fn start_node(&mut self, node: usize) {
        if !self.running[node] {
            self.obey("start", node);
            self.running[node] = true;
        }
    }

    fn obey(&mut self, word: &str, node: usize) {
        let line = format!("{word} {node}");
        let commands = self.commands.as_mut().expect("it runs");
        writeln!(commands, "{line}").expect("the nodes read commands");
        self.wait_for(&line);
    }
}

/// Returns the security configuration of the server that does not belong to a cluster: the passwords and permissions of its
/// users.
fn security() -> Value {
    let users = [READER, STRANGER].map(|user| user.split(':').next().unwrap_or_default());
    let hashed = users.iter().map(|user| ((*user).to_owned(), json!(HASHED)));
    let hashed: serde_json::Map<_, _> = hashed.collect();
    json!({
        "authentication": {
            "class": "solr.BasicAuthPlugin",
            "blockUnknown": false,
            "credentials": hashed,
        },
        "authorization": {
            "class": "solr.RuleBasedAuthorizationPlugin",
            "user-role": { users[0]: "reader" },
            "permissions": [{ "name": "read", "role": "reader" }],
        },
    })
}

impl Drop for SolrNodes {
    fn drop(&mut self) {
        // The nodes end when their standard input closes.
        drop(self.commands.take());
        let _ = self.child.wait();
    }
}
