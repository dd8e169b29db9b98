//! Finds objects that live as long as the worker and keep a request, a session, a user or a handle.

use stampede_model::app_kind::AppKind;
use tree_sitter::Node;

use super::SuspectKind;
use super::calls;
use super::names::short;
use super::place::{Scope, ancestors, class_name};
use super::reader::{CandidateSuspect, Facts, NodePath, Reader};
use super::tree::{self, Descent, arguments, children, literal, text};

/// The role of a class, judged by its name, its ancestors and its directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Created once and used by many.
    Service,
    /// Created for each use: an event, an entity, a message.
    Value,
    Unknown,
}

/// What an object keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptObject {
    Request,
    /// A user or a session; entities have these too.
    User,
}

/// Records `new Cart(…)`: an object created with `new` does not outlive its creator.
pub(super) fn record_created(reader: &mut Reader, at: NodePath) {
    let class = children(at.node)
        .into_iter()
        .find(|part| matches!(part.kind(), "name" | "qualified_name" | "relative_scope"));
    let Some(class) = class.map(|class| reader.text(class)) else { return };
    if !at.path.iter().rev().any(|node| registers(*node, reader).is_some()) {
        let class = match class {
            "self" | "static" => Scope::of(at.path)
                .class
                .map(|class| class_name(class, &reader.names, reader.source))
                .unwrap_or_default(),
            class => reader.names.class(class),
        };
        reader.facts.made.insert(class);
    }
}

/// Records `public $singletons = [Cart::class, …]` of a Laravel provider.
pub(super) fn record_singletons(reader: &mut Reader, at: NodePath) {
    let name = at.node.child_by_field_name("name").map(|name| reader.text(name));
    if name != Some("$singletons") {
        return;
    }
    let mut classes = Vec::new();
    tree::walk(at.node, at.path, |node, _| {
        classes.extend(class_constant(node, reader));
        Descent::Into
    });
    reader.facts.singletons.extend(classes);
}

/// Reads `$this->app->singleton(Cart::class, function ($app) { … })`.
pub(super) fn read_singleton(reader: &mut Reader, at: NodePath) {
    let Some(named) = registers(at.node, reader) else { return };
    let args = arguments(at.node);
    let class = class_constant(named, reader);
    let name = class.clone().or(literal(named, reader.source).map(str::to_owned));
    reader.facts.singletons.extend(class);
    reader.facts.singletons.extend(args.get(1).and_then(|made| class_constant(*made, reader)));
    let Some(maker) = args.get(1).copied() else { return };
    let is_function = matches!(maker.kind(), "anonymous_function" | "arrow_function");
    let keeps = match is_function {
        true => gets_request(maker, reader),
        false => is_request(reader, maker, at),
    };
    if keeps {
        let name = name.unwrap_or_else(|| reader.text(named).to_owned());
        reader.add(SuspectKind::KeepsRequest, format!("singleton {name}"), at);
    }
}

/// Reads `__construct(private Request $request)` of a class that is created once.
pub(super) fn read_promoted_property(reader: &mut Reader, at: NodePath) {
    let kind = at.node.child_by_field_name("type").map(|kind| reader.text(kind));
    let name = at.node.child_by_field_name("name").map(|name| reader.text(name));
    let Some(kept) = kind.and_then(|kind| kept_by_type(kind, reader)) else { return };
    let property = name.unwrap_or_default().trim_start_matches('$').to_owned();
    report_kept(reader, at, kept, &property);
}

/// Reads `$this->request = $request` and `$this->log = fopen(…)`.
pub(super) fn read_assignment(reader: &mut Reader, at: NodePath) {
    let (Some(left), Some(right)) =
        (at.node.child_by_field_name("left"), at.node.child_by_field_name("right"))
    else {
        return;
    };
    if left.kind() == "subscript_expression" {
        return read_growing_list(reader, at, left);
    }
    let object = left.child_by_field_name("object").map(|object| reader.text(object));
    let is_own = left.kind() == "member_access_expression" && object == Some("$this");
    let property = left.child_by_field_name("name").map(|name| reader.text(name));
    let Some(property) = property.filter(|_| is_own) else { return };
    if let Some(kept) = kept_by_value(reader, right, at) {
        report_kept(reader, at, kept, property);
    } else if let Some(opener) = calls::opens(reader, right) {
        report_open_handle(reader, at, property, &opener);
    }
}

/// Returns whether a value is a request, a session or a user.
pub(super) fn is_request(reader: &Reader, value: Node, at: NodePath) -> bool {
    kept_by_value(reader, value, at).is_some()
}

/// Returns the suspects whose classes live long; all files together show which classes do.
pub(super) fn select_suspects(
    found: Vec<CandidateSuspect>,
    app: AppKind,
    facts: &Facts,
) -> Vec<super::Suspect> {
    let by_container = matches!(app, AppKind::Laravel | AppKind::Lumen);
    let lives = |class: &String| match by_container {
        // An object from Laravel's container lives as long as the object that needs it, except
        // singletons. Controllers live as long as their routes.
        true => {
            facts.singletons.contains(class)
                || (app == AppKind::Laravel && short(class).ends_with("Controller"))
        }
        false => !facts.made.contains(class),
    };
    let kept = found.into_iter().filter(|found| found.object_of.as_ref().is_none_or(lives));
    kept.map(|found| found.suspect).collect()
}

fn report_kept(reader: &mut Reader, at: NodePath, kept: KeptObject, property: &str) {
    let scope = Scope::of(at.path);
    let Some(class) = scope.class else { return };
    let name = class_name(class, &reader.names, reader.source);
    let above = ancestors(class, &reader.names, reader.source);
    let role = role(&name, &above, reader.file);
    let in_constructor = scope.function_name(reader.source) == "__construct";
    let by_container = matches!(reader.app, AppKind::Laravel | AppKind::Lumen);
    // No container injects a request or user into a constructor unless it is configured to. So such
    // a class is created by hand, unless its name says that it is a service.
    let counts = match role {
        Role::Service => true,
        Role::Value => false,
        Role::Unknown => by_container || (kept == KeptObject::Request && !in_constructor),
    };
    let is_reset = above.iter().any(|above| above.ends_with("ResetInterface"));
    let is_let_go = scope.function.is_some_and(|function| {
        let plain: String = reader.text(function).split_whitespace().collect();
        plain.contains(&format!("$this->{property}=null"))
    });
    if counts && !is_reset && !is_let_go {
        let what = format!("{name}::${property}");
        reader.add_if_kept(SuspectKind::KeepsRequest, what, at, name);
    }
}

/// Reads `$this->lines[] = $line` in a service that never removes anything from the list.
fn read_growing_list(reader: &mut Reader, at: NodePath, left: Node) {
    let list = reader.text(left).strip_suffix("[]").map(str::trim_end);
    let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let list = list.filter(|list| list.strip_prefix("$this->").is_some_and(is_plain));
    let Some(list) = list else { return };
    let scope = Scope::of(at.path);
    let (Some(class), Some(function)) = (scope.class, scope.function) else { return };
    if !reader.is_first_check(class, list) {
        return;
    }
    let name = class_name(class, &reader.names, reader.source);
    let above = ancestors(class, &reader.names, reader.source);
    let plain: String = reader.text(class).split_whitespace().collect();
    let is_emptied = ["=[]", "=null", "=array()", "=array_"]
        .iter()
        .any(|emptied| plain.contains(&format!("{list}{emptied}")))
        || ["unset(", "array_pop(", "array_shift(", "array_splice("]
            .iter()
            .any(|takes| plain.contains(&format!("{takes}{list}")));
    // Containers call such methods while they create a service, to give it its parts.
    let takes_parts = function
        .child_by_field_name("parameters")
        .is_some_and(|parameters| reader.text(parameters).contains("Interface "));
    let at_boot = scope.function_name(reader.source) == "__construct" || takes_parts;
    let is_reset = above.iter().any(|above| above.ends_with("ResetInterface"));
    if role(&name, &above, reader.file) == Role::Service && !is_emptied && !at_boot && !is_reset {
        let property = list.trim_start_matches("$this->");
        let what = format!("{name}::${property}[] (grows)");
        reader.add_if_kept(SuspectKind::Gathers, what, at, name);
    }
}

/// Reports a handle in a property of a service that never closes it.
fn report_open_handle(reader: &mut Reader, at: NodePath, property: &str, opener: &str) {
    let Some(class) = Scope::of(at.path).class else { return };
    if !reader.is_first_check(class, property) {
        return;
    }
    let name = class_name(class, &reader.names, reader.source);
    let above = ancestors(class, &reader.names, reader.source);
    let closes = ["fclose", "pclose", "proc_close"];
    let is_closed =
        reader.class_summary(at).calls_any(&closes) || reader.text(class).contains("__destruct");
    if role(&name, &above, reader.file) == Role::Service && !is_closed {
        let what = format!("{name}::${property} = {opener}()");
        reader.add_if_kept(SuspectKind::FileHandle, what, at, name);
    }
}

/// Returns what a type stands for, if it is a request, a session or a user.
fn kept_by_type(kind: &str, reader: &Reader) -> Option<KeptObject> {
    kind.split(['|', '&', '?', '(', ')', ' ']).filter(|part| !part.is_empty()).find_map(|part| {
        match short(&reader.names.class(part)) {
            "Request" | "ServerRequest" | "ServerRequestInterface" | "HttpRequest" => {
                Some(KeptObject::Request)
            }
            "Session" | "SessionInterface" | "User" | "UserInterface" | "Authenticatable"
            | "TokenInterface" => Some(KeptObject::User),
            _ => None,
        }
    })
}

/// Returns what a value is: a parameter of such a type, or an expression that returns one.
fn kept_by_value(reader: &Reader, value: Node, at: NodePath) -> Option<KeptObject> {
    if value.kind() == "variable_name" {
        let function = Scope::of(at.path).function?;
        let parameters = children(function.child_by_field_name("parameters")?);
        let named = |parameter: &&Node| {
            parameter
                .child_by_field_name("name")
                .is_some_and(|name| reader.text(name) == reader.text(value))
        };
        let kind = parameters.iter().find(named)?.child_by_field_name("type")?;
        return kept_by_type(reader.text(kind), reader);
    }
    kept_by_call(value, reader)
}

/// Reads `$event->getRequest()`, `request()`, `Auth::user()`, `$app['request']`,
/// `$app->make('request')`.
fn kept_by_call(value: Node, reader: &Reader) -> Option<KeptObject> {
    let name = || value.child_by_field_name("name").map(|name| reader.text(name));
    match value.kind() {
        "function_call_expression" => {
            let function = value.child_by_field_name("function").map(|name| reader.text(name));
            match (function, arguments(value).is_empty()) {
                (Some("request"), true) => Some(KeptObject::Request),
                (Some("session"), true) => Some(KeptObject::User),
                _ => None,
            }
        }
        "member_call_expression" | "nullsafe_member_call_expression" => match name()? {
            "getRequest" | "getCurrentRequest" | "getMainRequest" | "getMasterRequest" => {
                Some(KeptObject::Request)
            }
            "getUser" | "getSession" => Some(KeptObject::User),
            "user" => reader.text(value).starts_with("auth(").then_some(KeptObject::User),
            "make" | "get" => {
                arguments(value).first().and_then(|name| kept_by_service(*name, reader))
            }
            _ => None,
        },
        "scoped_call_expression" => {
            let scope = value.child_by_field_name("scope").map(|scope| reader.text(scope))?;
            match (short(scope), name()?) {
                ("Auth", "user") => Some(KeptObject::User),
                ("Request", "capture" | "createFromGlobals") => Some(KeptObject::Request),
                _ => None,
            }
        }
        "subscript_expression" => {
            let [of, key] = children(value)[..] else { return None };
            let is_container = ["$app", "$this->app", "$container"].contains(&reader.text(of));
            kept_by_service(key, reader).filter(|_| is_container)
        }
        _ => None,
    }
}

/// Returns what a container returns for a name.
fn kept_by_service(named: Node, reader: &Reader) -> Option<KeptObject> {
    match literal(named, reader.source) {
        Some("request") => Some(KeptObject::Request),
        Some("session" | "session.store") => Some(KeptObject::User),
        Some(_) => None,
        None => kept_by_type(&format!("\\{}", class_constant(named, reader)?), reader),
    }
}

/// Returns whether the maker of a singleton gets the request when it runs. A closure inside it runs
/// later, which is correct.
fn gets_request(maker: Node, reader: &Reader) -> bool {
    let mut asks = false;
    tree::walk(maker, &[], |node, _| {
        let is_later = matches!(node.kind(), "anonymous_function" | "arrow_function");
        if node != maker && is_later {
            return Descent::Over;
        }
        asks |= kept_by_call(node, reader).is_some_and(|_| !is_session_manager(node, reader));
        Descent::Into
    });
    asks
}

/// Returns whether the value is a session manager, as from `$app->make('session')`: it may live
/// long.
fn is_session_manager(node: Node, reader: &Reader) -> bool {
    reader.text(node).contains("session") && node.kind() != "function_call_expression"
}

/// Returns the first argument of a call that makes Laravel's container create something once.
fn registers<'t>(call: Node<'t>, reader: &Reader) -> Option<Node<'t>> {
    let is_call = matches!(call.kind(), "member_call_expression" | "scoped_call_expression");
    let name = call.child_by_field_name("name").filter(|_| is_call)?;
    let of = call.child_by_field_name("object").or_else(|| call.child_by_field_name("scope"))?;
    let of = reader.text(of);
    let is_container = of.ends_with("app")
        || of.ends_with("App")
        || of.ends_with("ontainer")
        || of.ends_with("app()");
    let once = matches!(reader.text(name), "singleton" | "singletonIf" | "instance");
    (once && is_container).then(|| arguments(call).first().copied())?
}

/// Returns the class of `Cart::class`.
fn class_constant(node: Node, reader: &Reader) -> Option<String> {
    if node.kind() != "class_constant_access_expression" {
        return None;
    }
    let [class, constant] = children(node)[..] else { return None };
    let is_class = text(constant, reader.source).eq_ignore_ascii_case("class");
    is_class.then(|| reader.names.class(text(class, reader.source)))
}

fn role(class: &str, above: &[String], file: &str) -> Role {
    let ends = |endings: &[&str]| {
        let ends = |name: &str| endings.iter().any(|ending| short(name).ends_with(ending));
        ends(class) || above.iter().any(|above| ends(above))
    };
    let own = |endings: &[&str]| endings.iter().any(|ending| short(class).ends_with(ending));
    let lies = |directories: &[&str]| file.split('/').any(|part| directories.contains(&part));
    if own(SERVICES) {
        Role::Service
    } else if ends(VALUES) || lies(VALUE_DIRECTORIES) {
        Role::Value
    } else if ends(SERVICES) || lies(SERVICE_DIRECTORIES) {
        Role::Service
    } else {
        Role::Unknown
    }
}

/// Endings of the names of classes that are created once.
const SERVICES: &[&str] = &[
    "Authenticator",
    "Client",
    "Controller",
    "EventSubscriberInterface",
    "Extension",
    "Factory",
    "Gateway",
    "Handler",
    "Helper",
    "Listener",
    "Manager",
    "Middleware",
    "MiddlewareInterface",
    "Provider",
    "Registry",
    "Repository",
    "RequestHandlerInterface",
    "Resolver",
    "Service",
    "Subscriber",
];
/// Endings of the names of classes that are created for each use.
const VALUES: &[&str] = &[
    "Attempt",
    "Badge",
    "Command",
    "Criteria",
    "DTO",
    "Data",
    "Dto",
    "Entity",
    "Error",
    "Event",
    "Exception",
    "Input",
    "Job",
    "Mail",
    "Mailable",
    "Message",
    "Model",
    "Notification",
    "Params",
    "Passport",
    "Payload",
    "Query",
    "Request",
    "Resource",
    "Response",
    "Result",
    "ShouldQueue",
    "Throwable",
    "Token",
    "VO",
    "Value",
    "View",
    "Vote",
];
const SERVICE_DIRECTORIES: &[&str] = &[
    "Controller",
    "Controllers",
    "EventListener",
    "EventSubscriber",
    "Listener",
    "Listeners",
    "Middleware",
    "Repository",
    "Security",
    "Service",
    "Services",
    "Subscriber",
    "Twig",
];
const VALUE_DIRECTORIES: &[&str] = &[
    "DTO",
    "Dto",
    "Entities",
    "Entity",
    "Event",
    "Events",
    "Exception",
    "Exceptions",
    "Jobs",
    "Mail",
    "Message",
    "Messages",
    "Model",
    "Models",
    "Notifications",
    "Requests",
    "Resources",
    "ValueObject",
];
