//! Lines of a file or of standard input, of any octets and of bounded length.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::console::output::Failure;

/// The longest line kept, in octets; of a longer one, the rest is passed over.
const MAX_LINE: usize = 1 << 20;

/// Lines that come one by one.
pub(crate) struct Lines {
    name: String,
    input: Box<dyn BufRead>,
}

impl Lines {
    /// Those of a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::stdin());
        }
        let file = File::open(path)
            .map_err(|error| Failure::input(&path.display().to_string(), &error))?;
        Ok(Self {
            name: path.display().to_string(),
            input: Box::new(BufReader::new(file)),
        })
    }

    /// Those of standard input.
    pub(crate) fn stdin() -> Self {
        Self {
            name: "standard input".into(),
            input: Box::new(BufReader::new(io::stdin())),
        }
    }

    /// The next line without its end; `None` behind the last.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.read()
            .map_err(|error| Failure::input(&self.name, &error))
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut read_any = false;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(read_any.then_some(line));
            }
            read_any = true;
            let end = available.iter().position(|&octet| octet == b'\n');
            let taken = end.unwrap_or(available.len());
            let room = MAX_LINE - line.len();
            line.extend(available.iter().take(taken.min(room)));
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_may_hold_anything() {
        let long = vec![b'x'; MAX_LINE + 5];
        let text = [&b"a\r\n\n\xff\n"[..], &long, b"\nlast"].concat();
        let mut lines = Lines {
            name: "text".into(),
            input: Box::new(io::Cursor::new(text)),
        };
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("in memory") {
            found.push(line);
        }
        assert_eq!(
            found,
            [
                b"a".to_vec(),
                Vec::new(),
                vec![0xff],
                vec![b'x'; MAX_LINE],
                b"last".to_vec()
            ]
        );
    }
}
