//! Builds or changes a Gopher URL. Parts are escaped as necessary. Only parts that a request cannot contain are
//! refused.

use std::num::NonZeroU16;

use super::super::authority::HostPort;
use super::super::error::BuildError;
use super::super::host::Host;
use super::super::octets::Octets;
use super::{GopherPlus, GopherType, GopherUrl};

/// A builder for [`GopherUrl`], whose [`build`](Self::build) checks the parts.
#[derive(Clone, Debug)]
#[must_use]
pub struct GopherUrlBuilder {
    pub(super) url: GopherUrl,
    pub(super) ask_forms: bool,
}

impl GopherUrlBuilder {
    pub(super) fn new(host: Host) -> Self {
        Self {
            url: GopherUrl {
                hostport: HostPort::new(host),
                item_type: GopherType::MENU,
                selector: Octets::default(),
                search: None,
                plus: None,
            },
            ask_forms: false,
        }
    }

    /// Sets the port to connect to.
    pub fn port(mut self, port: NonZeroU16) -> Self {
        self.url.hostport = self.url.hostport.with_port(port);
        self
    }

    /// Sets the item type, which determines how the reply is interpreted.
    pub fn item_type(mut self, item_type: GopherType) -> Self {
        self.url.item_type = item_type;
        self
    }

    /// Sets the selector, which may contain any octets except tab, CR and LF.
    pub fn selector(mut self, selector: impl Into<Octets>) -> Self {
        self.url.selector = selector.into();
        self
    }

    /// Sets the search string, which may be empty, and may contain any octets except tab, CR and LF.
    pub fn search(mut self, term: impl Into<Octets>) -> Self {
        self.url.search = Some(term.into());
        self
    }

    /// Sets the Gopher+ string, and adds an empty search string if there is none.
    pub fn plus(mut self, plus: GopherPlus) -> Self {
        self.url.search.get_or_insert_default();
        self.url.plus = Some(plus);
        self
    }

    /// Sets whether the URL may contain the answers to a form, although the draft (§3.1) discourages this.
    pub fn ask_forms(mut self, allowed: bool) -> Self {
        self.ask_forms = allowed;
        self
    }

    /// Sets the answers to a form as the Gopher+ string. This requires [`ask_forms`](Self::ask_forms).
    ///
    /// # Errors
    /// `AmbiguousDot` if an answer is a lone dot, or `ForbiddenControl` if an answer contains CR or LF.
    pub fn answers<T: AsRef<[u8]>>(self, answers: &[T]) -> Result<Self, BuildError> {
        match GopherPlus::answers(answers) {
            Some(plus) => Ok(self.plus(plus)),
            None if answers.iter().any(|answer| answer.as_ref() == b".") => Err(BuildError::new(
                "AmbiguousDot",
                "an answer is a lone dot, which would end the form",
            )),
            None => Err(BuildError::new(
                "ForbiddenControl",
                "an answer holds a line end, which would end it in the form",
            )),
        }
    }

    /// Builds the URL.
    ///
    /// # Errors
    /// The error for the first part, in the order of the URL, that a request cannot contain.
    pub fn build(self) -> Result<GopherUrl, BuildError> {
        let url = self.url;
        line(&url.selector, "the selector")?;
        if let Some(search) = &url.search {
            line(search, "the search string")?;
        }
        if !self.ask_forms && url.plus.as_ref().is_some_and(GopherPlus::is_filled_form) {
            return Err(BuildError::new(
                "AskFormsDisabled",
                "the answers to a form are not put into a URL unless that is allowed",
            ));
        }
        BuildError::bounded(&url.to_string())?;
        Ok(url)
    }
}

fn line(octets: &Octets, part: &str) -> Result<(), BuildError> {
    if octets
        .as_bytes()
        .iter()
        .any(|octet| b"\t\r\n".contains(octet))
    {
        Err(BuildError::new(
            "ForbiddenControl",
            format!("{part} holds a tab or a line end, which would end it in the request"),
        ))
    } else {
        Ok(())
    }
}
