//! The exit codes of the program, and their precedence if there are several inputs.

use std::process::ExitCode;

use z3950::retrieve::OutcomeName;

use crate::render::Rendered;

/// The result of a command. The number of each variant is the exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    #[default]
    Delivered = 0,
    /// An error in the program or on its machine, such as a full disk.
    Unexpected = 1,
    /// Wrong usage, a malformed URL, or a URL that cannot be retrieved.
    Usage = 2,
    /// No record matches.
    NoMatch = 3,
    /// More than one record matches.
    Ambiguous = 4,
    /// The server refused the request: a diagnostic, a rejected Init, or access control.
    Refused = 5,
    /// The connection failed, the response did not arrive in time, or the protocol was violated.
    Transport = 6,
    /// The port is below 1024 but is not 210, and `--allow-reserved-port` is not given.
    PortRefused = 7,
    /// A part of a record was lost, or a check found faults.
    FaultsFound = 8,
    /// The program was ended by SIGHUP.
    HungUp = 129,
    /// The program was ended by Ctrl-C.
    Interrupted = 130,
    /// The program was ended by SIGTERM.
    Terminated = 143,
}

/// The exit codes by precedence. If a command has several inputs, it ends with the code that comes first in this list,
/// among those that occurred.
const PRECEDENCE: [Exit; 11] = [
    Exit::Interrupted,
    Exit::Terminated,
    Exit::HungUp,
    Exit::Unexpected,
    Exit::Transport,
    Exit::Refused,
    Exit::PortRefused,
    Exit::Usage,
    Exit::Ambiguous,
    Exit::NoMatch,
    Exit::FaultsFound,
];

impl Exit {
    /// Returns the exit code of a command whose two parts ended with these codes.
    pub fn and(self, other: Self) -> Self {
        PRECEDENCE
            .into_iter()
            .find(|&exit| exit == self || exit == other)
            .unwrap_or(Self::Delivered)
    }

    /// Returns whether a signal ended the command.
    pub(crate) fn is_by_signal(self) -> bool {
        matches!(self, Self::Interrupted | Self::Terminated | Self::HungUp)
    }

    /// Returns the exit code of a command that writes this record. The code reports whether data was lost, or whether
    /// the format could not represent the record.
    pub(crate) fn of_record(record: &Rendered) -> Self {
        match (record.is_loss, &record.failure) {
            (true, _) => Self::FaultsFound,
            (false, Some(_)) => Self::Usage,
            (false, None) => Self::Delivered,
        }
    }

    /// Returns the variant for this code, or `Unexpected` for an unknown code.
    pub(crate) fn of(code: u8) -> Self {
        let mut exits = PRECEDENCE.into_iter().chain([Self::Delivered]);
        exits
            .find(|exit| *exit as u8 == code)
            .unwrap_or(Self::Unexpected)
    }
}

impl From<OutcomeName> for Exit {
    /// Returns the exit code of a command whose only input ends with this outcome.
    fn from(outcome: OutcomeName) -> Self {
        use OutcomeName as Of;
        match outcome {
            Of::NoMatch => Self::NoMatch,
            Of::Ambiguous => Self::Ambiguous,
            Of::SearchRefused | Of::PresentRefused | Of::SortRefused | Of::ScanRefused => {
                Self::Refused
            }
            Of::RecordRefused | Of::TaskFailed => Self::Refused,
            Of::InitRejected | Of::AccessRefused | Of::NotGranted | Of::NoRequest => Self::Refused,
            Of::NoCredentials | Of::NotSent | Of::NotWritten | Of::OutOfRange => Self::Usage,
            Of::PortRefused => Self::PortRefused,
            Of::Unavailable | Of::ProtocolError | Of::Closed => Self::Transport,
            _ => Self::Delivered,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The text about exit codes at the end of `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0    success
  1    unexpected error
  2    invalid usage or URL, or a URL that cannot be carried out
  3    no matching record, or an input with nothing to search for
  4    more than one matching record
  5    refused by the server (diagnostic, rejected Init, access control)
  6    no connection, timeout, or protocol error
  7    reserved port refused (see --allow-reserved-port)
  8    part of a record was lost or not sent, or a check found faults
  129  ended by SIGHUP
  130  interrupted (Ctrl-C)
  143  ended by SIGTERM
With several inputs: the first of 130, 143, 129, 1, 6, 5, 7, 2, 4, 3, 8 that occurred.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_serious_exit_wins() {
        use Exit::*;
        // Exit codes from the most serious to the least serious.
        let order = [
            (130, Interrupted),
            (1, Unexpected),
            (6, Transport),
            (5, Refused),
            (7, PortRefused),
            (2, Usage),
            (4, Ambiguous),
            (3, NoMatch),
            (8, FaultsFound),
            (0, Delivered),
        ];
        for (index, (code, one)) in order.into_iter().enumerate() {
            assert_eq!((one as u8, Exit::of(code)), (code, one));
            for (_, other) in &order[index..] {
                assert_eq!((one.and(*other), other.and(one)), (one, one));
            }
        }
        for exit in PRECEDENCE {
            let code = format!("  {:<5}", exit as u8);
            assert!(
                HELP.lines().any(|line| line.starts_with(&code)),
                "{exit:?} is in the help"
            );
        }
    }
}
