//! Lists PHP's own functions that leave something behind, and how it is undone. tidy: data table

use super::SuspectKind;

/// A function that leaves something behind.
pub(super) struct Function {
    /// The name in lower case.
    pub name: &'static str,
    pub kind: SuspectKind,
    /// With fewer arguments, the function changes nothing.
    pub least: usize,
    pub undo: Undo,
    /// Whether the first argument says what is changed.
    pub shows_first: bool,
}

/// What undoes the change.
#[derive(Clone, Copy)]
pub(super) enum Undo {
    /// Nothing does.
    Never,
    /// One of these functions, called in the same function or elsewhere in the class.
    By(&'static [&'static str]),
    /// The function itself, in the same function, with a value that it or one of these returned
    /// before.
    Itself(&'static [&'static str]),
}

/// All functions of the list.
pub(super) const FUNCTIONS: &[Function] = &[
    named("ini_set", SuspectKind::IniSet, 2, Undo::Itself(&["ini_get"])),
    named("ini_alter", SuspectKind::IniSet, 2, Undo::Itself(&["ini_get"])),
    plain("set_time_limit", SuspectKind::IniSet, 1, Undo::Never),
    plain("error_reporting", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("ignore_user_abort", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("mb_internal_encoding", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("mb_regex_encoding", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("mb_language", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("mb_substitute_character", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("libxml_use_internal_errors", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("libxml_set_external_entity_loader", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("libxml_disable_entity_loader", SuspectKind::IniSet, 0, Undo::Itself(&[])),
    plain("gc_disable", SuspectKind::IniSet, 0, Undo::By(&["gc_enable"])),
    plain("bcscale", SuspectKind::IniSet, 1, Undo::Itself(&[])),
    plain("assert_options", SuspectKind::IniSet, 2, Undo::Itself(&[])),
    named("putenv", SuspectKind::Putenv, 1, Undo::Never),
    named("apache_setenv", SuspectKind::Putenv, 2, Undo::Never),
    plain("setlocale", SuspectKind::Setlocale, 2, Undo::Itself(&[])),
    named("locale_set_default", SuspectKind::Setlocale, 1, Undo::Itself(&["locale_get_default"])),
    named("textdomain", SuspectKind::Setlocale, 1, Undo::Itself(&[])),
    named(
        "date_default_timezone_set",
        SuspectKind::Timezone,
        1,
        Undo::Itself(&["date_default_timezone_get"]),
    ),
    plain("chdir", SuspectKind::Chdir, 1, Undo::Itself(&["getcwd"])),
    plain("chroot", SuspectKind::Chdir, 1, Undo::Never),
    plain("umask", SuspectKind::Umask, 1, Undo::Itself(&[])),
    plain("set_error_handler", SuspectKind::Handler, 1, Undo::By(&["restore_error_handler"])),
    plain(
        "set_exception_handler",
        SuspectKind::Handler,
        1,
        Undo::By(&["restore_exception_handler"]),
    ),
    plain("register_shutdown_function", SuspectKind::Handler, 1, Undo::Never),
    plain("spl_autoload_register", SuspectKind::Handler, 1, Undo::By(&["spl_autoload_unregister"])),
    named(
        "stream_wrapper_register",
        SuspectKind::Handler,
        2,
        Undo::By(&["stream_wrapper_unregister"]),
    ),
    named(
        "stream_wrapper_unregister",
        SuspectKind::Handler,
        1,
        Undo::By(&["stream_wrapper_restore", "stream_wrapper_register"]),
    ),
    plain(
        "register_tick_function",
        SuspectKind::Handler,
        1,
        Undo::By(&["unregister_tick_function"]),
    ),
    plain("header_register_callback", SuspectKind::Handler, 1, Undo::Never),
    plain(
        "ob_start",
        SuspectKind::OutputBuffer,
        0,
        Undo::By(&["ob_end_clean", "ob_end_flush", "ob_get_clean", "ob_get_flush"]),
    ),
    plain("mt_srand", SuspectKind::Seed, 1, Undo::Never),
    plain("srand", SuspectKind::Seed, 1, Undo::Never),
    plain("session_start", SuspectKind::Session, 0, Undo::Never),
    plain("session_destroy", SuspectKind::Session, 0, Undo::Never),
    plain("session_regenerate_id", SuspectKind::Session, 0, Undo::Never),
    plain("session_id", SuspectKind::Session, 0, Undo::Never),
    plain("session_unset", SuspectKind::Session, 0, Undo::Never),
    plain("session_write_close", SuspectKind::Session, 0, Undo::Never),
    named("header", SuspectKind::Header, 1, Undo::Never),
    named("header_remove", SuspectKind::Header, 0, Undo::Never),
    named("setcookie", SuspectKind::Header, 1, Undo::Never),
    named("setrawcookie", SuspectKind::Header, 1, Undo::Never),
    plain("http_response_code", SuspectKind::Header, 1, Undo::Never),
    plain("filter_input", SuspectKind::Superglobal, 2, Undo::Never),
    plain("filter_input_array", SuspectKind::Superglobal, 1, Undo::Never),
    plain("getallheaders", SuspectKind::Superglobal, 0, Undo::Never),
    plain("apache_request_headers", SuspectKind::Superglobal, 0, Undo::Never),
    plain("is_uploaded_file", SuspectKind::Superglobal, 1, Undo::Never),
    plain("move_uploaded_file", SuspectKind::Superglobal, 2, Undo::Never),
    plain("printf", SuspectKind::Output, 1, Undo::Never),
    plain("vprintf", SuspectKind::Output, 1, Undo::Never),
    plain("var_dump", SuspectKind::Output, 1, Undo::Never),
    plain("phpinfo", SuspectKind::Output, 0, Undo::Never),
    plain("readfile", SuspectKind::Output, 1, Undo::Never),
    plain("passthru", SuspectKind::Output, 1, Undo::Never),
    plain("fpassthru", SuspectKind::Output, 1, Undo::Never),
];

const fn plain(name: &'static str, kind: SuspectKind, least: usize, undo: Undo) -> Function {
    Function { name, kind, least, undo, shows_first: false }
}

/// An entry whose first argument says what is changed.
const fn named(name: &'static str, kind: SuspectKind, least: usize, undo: Undo) -> Function {
    Function { name, kind, least, undo, shows_first: true }
}
