//! The arguments that say what is known of an app, as clap reads them.

use clap::Args;
use stampede_plan::AppFlags;

/// What is said about the app: shared by all commands that start one for a load.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The app")]
pub struct AppArgs {
    /// All but who asks.
    #[command(flatten)]
    pub about: AboutAppArgs,
    /// Who asks.
    #[command(flatten)]
    pub login: LoginArgs,
}

/// Who asks the app.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The app")]
pub struct LoginArgs {
    /// Log in with basic authentication: NAME:PASSWORD
    #[arg(long, value_name = "LOGIN")]
    pub basic_auth: Option<String>,
    /// Log in at this page before the load, with --login-field: /login
    #[arg(long, value_name = "PATH")]
    pub login: Option<String>,
    /// Fill in a field of the login form: NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub login_field: Vec<String>,
    /// Wait this long at the login form before it is sent, if the app refuses quick ones: 5s
    #[arg(long, value_name = "LENGTH")]
    pub login_pause: Option<String>,
    /// Log in this many times; the sessions take turns with the requests [default: 1]
    #[arg(long, value_name = "N")]
    pub sessions: Option<String>,
}

/// What is said about the app but who asks: shared by all commands that start one.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The app")]
pub struct AboutAppArgs {
    /// Serve this directory of the app instead of the detected one: public_html
    #[arg(long, value_name = "DIR")]
    pub docroot: Option<String>,
    /// Use this front controller of the docroot instead of index.php
    #[arg(long, value_name = "FILE")]
    pub index: Option<String>,
    /// Let the app write to this path of its copy, even if the original is read-only (repeatable)
    #[arg(long, value_name = "PATH")]
    pub writable: Vec<String>,
    /// Wait until this path is answered without an error: /health [default: the measured page]
    #[arg(long, value_name = "PATH")]
    pub ready: Option<String>,
    /// Ask the app under this host name: shop.test
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Tell the app that its requests came by HTTPS
    #[arg(long)]
    pub https: bool,
    /// Add a header to every request: 'Name: value' (repeatable)
    #[arg(long, value_name = "HEADER")]
    pub header: Vec<String>,
    /// Add a cookie to every request: 'NAME=VALUE' (repeatable)
    #[arg(long, value_name = "COOKIE")]
    pub cookie: Vec<String>,
    /// Set a variable of the app's environment: NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Set a php.ini value on every runtime that stampede starts: NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub php_ini: Vec<String>,
    /// Leave this path of the app's directory out of the copy (repeatable)
    #[arg(long, value_name = "PATH")]
    pub exclude: Vec<String>,
    /// Load these PHP extensions too: curl,zip (repeatable)
    #[arg(long, value_name = "NAME,…")]
    pub extension: Vec<String>,
}

impl AboutAppArgs {
    /// The same flags, for the plan.
    pub fn flags(&self) -> AppFlags {
        AppFlags {
            docroot: self.docroot.clone(),
            index: self.index.clone(),
            writable: self.writable.clone(),
            ready: self.ready.clone(),
            host: self.host.clone(),
            https: self.https,
            header: self.header.clone(),
            cookie: self.cookie.clone(),
            env: self.env.clone(),
            php_ini: self.php_ini.clone(),
            exclude: self.exclude.clone(),
            extension: self.extension.clone(),
            ..AppFlags::default()
        }
    }
}

impl AppArgs {
    /// The same flags, for the plan.
    pub fn flags(&self) -> AppFlags {
        let LoginArgs { basic_auth, login, login_field, login_pause, sessions } = &self.login;
        AppFlags {
            basic_auth: basic_auth.clone(),
            login: login.clone(),
            login_field: login_field.clone(),
            login_pause: login_pause.clone(),
            sessions: sessions.clone(),
            ..self.about.flags()
        }
    }
}
