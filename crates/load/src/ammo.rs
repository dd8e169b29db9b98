//! What is fired: request bytes, prepared before the trial.

/// One request, complete as it goes onto the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Head and body, ready to send.
    pub bytes: Vec<u8>,
    /// Whether the answer has no body whatever its headers say (HEAD).
    pub answer: AnswerShape,
    /// A short name for tables: the ammo's tag, else the path.
    pub tag: String,
}

/// What the request's method says about the answer's body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerShape {
    /// Its headers tell.
    #[default]
    ByHeaders,
    /// Never a body: the answer to HEAD.
    NoBody,
}
