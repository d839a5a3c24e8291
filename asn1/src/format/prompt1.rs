//! Access control format prompt-1: prompts for the user, and the answers (Z39.50-2003 Appendix ACC.1). `Debug` and
//! [`Describe`](crate::describe::Describe) redact the answers.

use crate::apdu::{DiagRec, External};
use crate::describe::{described, redacted};
use crate::types::{InternationalString, OctetString};

described! {
    /// PromptObject: the server's prompts, or the client's answers to them.
    pub enum PromptObject {
        [1] Challenge(Vec<Prompt>),
        [2] Response(Vec<Answer>),
    }

    /// A prompt in a challenge.
    pub struct Prompt {
        [1] prompt_id: PromptId,
        [2] default_response: Option<InternationalString>,
        [3] prompt_info: Option<PromptInfo>,
        /// A regular expression (IEEE 1003.2 §2.8) that the answer has to match.
        [4] reg_expr: Option<InternationalString>,
        [5] response_required: Option<()>,
        [6] allowed_values: Option<Vec<InternationalString>>,
        /// Whether the client should save the answer, because it is likely to be requested again.
        [7] should_save: Option<()>,
        [8] data_type: Option<DataType>,
        /// The problem with the previous answer.
        [9] diagnostic: Option<External>,
    }

    /// Information that accompanies a prompt, such as a copyright statement.
    pub enum PromptInfo {
        [1] Character(InternationalString),
        [2] Encrypted(Encryption),
    }

    /// The type of the answer.
    pub integer DataType {
        INTEGER = 1 "integer", DATE = 2 "date", FLOAT = 3 "float", ALPHA_NUMERIC = 4 "alphaNumeric",
        URL_URN = 5 "url-urn", BOOLEAN = 6 "boolean",
    }

    /// An answer, with the prompt that it answers.
    pub struct Answer {
        [1] prompt_id: PromptId,
        [2] prompt_response: PromptResponse,
    }

    /// PromptId: a prompt of a predefined kind, or the text of a prompt.
    pub enum PromptId {
        /// A prompt of a predefined kind. The standard misspells the name in this way.
        [1] EnummeratedPrompt(EnumeratedPrompt),
        [2] NonEnumeratedPrompt(InternationalString),
    }

    /// A prompt of a predefined kind, and the text to show for it.
    pub struct EnumeratedPrompt {
        [1] r#type: PromptType,
        [2] suggested_string: Option<InternationalString>,
    }

    /// The predefined kinds of prompts.
    pub integer PromptType {
        GROUP_ID = 0 "groupId", USER_ID = 1 "userId", PASSWORD = 2 "password", NEW_PASSWORD = 3 "newPassword",
        COPYRIGHT = 4 "copyright", SESSION_ID = 5 "sessionId",
    }
}

impl Prompt {
    /// Creates a prompt of a predefined kind.
    pub fn enumerated(r#type: PromptType) -> Self {
        Self {
            prompt_id: PromptId::enumerated(r#type),
            default_response: None,
            prompt_info: None,
            reg_expr: None,
            response_required: None,
            allowed_values: None,
            should_save: None,
            data_type: None,
            diagnostic: None,
        }
    }
}

redacted! {
    /// The answer to a prompt, which `Debug` never shows.
    pub enum PromptResponse {
        [1] String(InternationalString),
        [2] Accept(bool),
        [3] Acknowledge,
        [4] Diagnostic(Box<DiagRec>),
        [5] Encrypted(Encryption),
    }

    /// Encryption: octets that only the peer can read, which `Debug` never shows.
    pub struct Encryption {
        [1] crypt_type: Option<OctetString>,
        /// A random number that was used for the encryption, such as a salt.
        [2] credential: Option<OctetString>,
        [3] data: OctetString,
    }
}

impl PromptId {
    /// Creates the identifier of a prompt of a predefined kind.
    pub fn enumerated(r#type: PromptType) -> Self {
        Self::EnummeratedPrompt(EnumeratedPrompt {
            r#type,
            suggested_string: None,
        })
    }
}
