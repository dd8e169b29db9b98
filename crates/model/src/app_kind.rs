//! Kinds of apps.

use serde::{Deserialize, Serialize};

/// The interface or framework that an app is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AppKind {
    /// Only a front controller.
    Script,
    /// A plain PHP handler, beside a front controller.
    Callable,
    /// Symfony.
    Symfony,
    /// Laravel.
    Laravel,
    /// Lumen.
    Lumen,
    /// A PSR-15 handler.
    Psr15,
}

impl AppKind {
    /// All kinds.
    pub const ALL: [AppKind; 6] = [
        AppKind::Script,
        AppKind::Callable,
        AppKind::Symfony,
        AppKind::Laravel,
        AppKind::Lumen,
        AppKind::Psr15,
    ];

    /// The kind's name, as plans and `app.yaml` write it.
    pub const fn name(self) -> &'static str {
        match self {
            AppKind::Script => "script",
            AppKind::Callable => "callable",
            AppKind::Symfony => "symfony",
            AppKind::Laravel => "laravel",
            AppKind::Lumen => "lumen",
            AppKind::Psr15 => "psr15",
        }
    }
}
