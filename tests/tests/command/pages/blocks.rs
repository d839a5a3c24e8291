//! The code blocks of a page, and what a reader does with each of them.

/// A code block of a page.
pub(super) enum Block {
    /// A heading instead of a block. Commands after it are no longer skipped.
    Heading,
    /// A `console` block, in which lines with `$ ` are commands, each with its output below it, or an `sh` block, which is pasted
    /// as a whole.
    Commands(Vec<Step>),
    /// A block that begins with a comment with the name of a file, such as `# targets.toml`. The reader saves it under this name.
    File { name: String, text: String },
    /// An `sh,no_run` block, whose commands need root or other machines. Its first line is a comment with the reason.
    NotRun { reason: String },
    /// A block that is not pasted, such as samples of files, messages and syntax, and code that other tests compile.
    Sample,
}

/// The prompt of `z3950 open`.
pub(super) const PROMPT: &str = "z3950> ";

/// A piece of text that is pasted into the shell at once.
pub(super) struct Step {
    /// The number of the line in the page.
    pub(super) line: usize,
    pub(super) command: String,
    /// The output that the page shows; `None` in blocks that do not show output.
    pub(super) shown: Option<Vec<String>>,
}

impl Step {
    /// Returns whether the command starts a server in the background.
    pub(super) fn is_server(&self) -> bool {
        is_server(&self.command)
    }

    /// Returns whether the command opens a prompt at which the page types commands.
    pub(super) fn is_prompt(&self) -> bool {
        !self.typed().is_empty()
    }

    /// Returns the lines that are typed at the prompt.
    pub(super) fn typed(&self) -> Vec<&str> {
        let shown = self.shown.iter().flatten();
        shown.filter_map(|line| line.strip_prefix(PROMPT)).collect()
    }

    /// Returns the exit code that the page announces in a comment: `# exit code 3`.
    pub(super) fn exit_code(&self) -> Option<i32> {
        let (_, comment) = self.command.split_once("# exit code ")?;
        let digits = comment.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }
}

fn is_server(command: &str) -> bool {
    let command = command.split("  #").next().unwrap_or_default();
    command.trim_end().ends_with('&')
}

/// Returns the blocks of a page.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut lines = (1..).zip(page.lines());
    let mut blocks = Vec::new();
    while let Some((start, line)) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let inner = lines.by_ref().take_while(|(_, line)| *line != "```");
            blocks.push(block(kind, start, inner.collect()));
        } else if line.starts_with('#') {
            blocks.push(Block::Heading);
        }
    }
    blocks
}

fn block(kind: &str, start: usize, lines: Vec<(usize, &str)>) -> Block {
    let first = lines.first().map(|(_, line)| *line).unwrap_or_default();
    let comment = first.strip_prefix("# ");
    match kind {
        "console" => Block::Commands(console(&lines)),
        "sh" => Block::Commands(shell(&lines)),
        "sh,no_run" => Block::NotRun {
            reason: comment
                .unwrap_or_else(|| panic!("line {start}: a comment says why the block is not run"))
                .to_owned(),
        },
        "toml" => Block::File {
            name: comment
                .filter(|name| !name.contains(' '))
                .unwrap_or_else(|| panic!("line {start}: a comment names the file"))
                .to_owned(),
            text: lines.iter().map(|(_, line)| format!("{line}\n")).collect(),
        },
        "" | "text" | "json" | "xml" | "yaml" | "python" | "rust" | "rust,no_run" => {
            for (number, line) in lines {
                let is_command = ["$ ", "z3950 ", "z3950d ", "curl ", "cargo "]
                    .iter()
                    .any(|word| line.starts_with(word));
                assert!(
                    !is_command,
                    "line {number}: a command in a block of {kind:?}"
                );
            }
            Block::Sample
        }
        other => panic!("line {start}: a block of {other:?}"),
    }
}

/// Returns the commands of a block with output. Lines that begin with `> ` continue a command, as in a shell.
fn console(lines: &[(usize, &str)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (line, text) in lines {
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step {
                line: *line,
                command: command.to_owned(),
                shown: None,
            });
            continue;
        }
        let step = steps
            .last_mut()
            .unwrap_or_else(|| panic!("line {line}: it comes before any command"));
        match (text.strip_prefix("> "), &mut step.shown) {
            (Some(more), None) => step.command = format!("{}\n{more}", step.command),
            (_, Some(shown)) => shown.push((*text).to_owned()),
            (None, None) => step.shown = Some(vec![(*text).to_owned()]),
        }
    }
    check_servers(&steps);
    steps
}

/// Returns the commands of a block without output. The block is one command, except that a server started by the last line is a
/// command of its own.
fn shell(lines: &[(usize, &str)]) -> Vec<Step> {
    let step = |lines: &[(usize, &str)]| {
        let (line, _) = lines.first()?;
        let text: Vec<&str> = lines.iter().map(|(_, text)| *text).collect();
        Some(Step {
            line: *line,
            command: text.join("\n"),
            shown: None,
        })
    };
    let starts_server = lines.last().is_some_and(|(_, text)| is_server(text));
    let (before, last) = lines.split_at(lines.len() - usize::from(starts_server));
    for (line, text) in before {
        assert!(!is_server(text), "line {line}: {AT_THE_END}");
    }
    step(before).into_iter().chain(step(last)).collect()
}

/// The message if a server is not started at the end of a block. Later commands in the block would be pasted before the server
/// listens.
const AT_THE_END: &str = "a block ends where a server is started";

fn check_servers(steps: &[Step]) {
    let before = steps.split_last().map(|(_, before)| before);
    for step in before.unwrap_or_default() {
        assert!(!step.is_server(), "line {}: {AT_THE_END}", step.line);
    }
}

/// Returns whether the output matches the output shown on a page. An `…` alone in a line matches any number of lines, and an `…`
/// within a line matches any text.
pub(super) fn fits(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=printed.len()).any(|count| fits(rest, &printed[count..]))
        }
        (Some((first, rest)), Some((line, others))) => {
            fits_line(first.trim_end(), line.trim_end()) && fits(rest, others)
        }
        _ => false,
    }
}

fn fits_line(shown: &str, printed: &str) -> bool {
    match shown.split_once('…') {
        None => shown == printed,
        Some((before, rest)) => printed.strip_prefix(before).is_some_and(|tail| {
            let mut starts = tail.char_indices().map(|(start, _)| start);
            starts.any(|start| fits_line(rest, &tail[start..])) || fits_line(rest, "")
        }),
    }
}

#[test]
fn omissions_stand_for_lines_and_for_text() {
    for (shown, printed, expected) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
        ("…\nb", "a\na\nb", true),
        ("…\nb", "b", true),
        ("…\nb", "a", false),
        ("a\n…", "a", true),
        ("a …, b", "a 1, b", true),
        ("a … b", "a 1, c", false),
        ("a …", "a b c", true),
        ("a…", "a", true),
    ] {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        let printed: Vec<&str> = printed.lines().collect();
        assert_eq!(fits(&shown, &printed), expected, "{shown:?} {printed:?}");
    }
}
