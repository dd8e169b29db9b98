//! Makes a server that already runs a stack that can be measured.

use std::time::Duration;

use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{ObservedState, RuntimeRecord};
use stampede_plan::model::{RequestSpec, RuntimeChoice, RuntimeSource};

use super::External;
use crate::answer::Answer;
use crate::app::App;
use crate::client::ClientError;
use crate::error::RuntimeError;
use crate::page::{PageRequest, PageResult, Site, SiteRequest};
use crate::provider::{Endpoint, Provider, Stack, StackLoss, StackRequest};
use crate::resolve::RuntimeTraits;
use crate::spec::StackSpec;

/// Finds servers that already run. It neither starts nor stops them.
#[derive(Clone, Copy, Debug)]
pub struct ExternalProvider;

impl Provider for ExternalProvider {
    fn starts(&self, _runtime: &RuntimeChoice) -> bool {
        false
    }

    fn traits(&self, _runtime: &RuntimeChoice, _app: &App) -> Result<RuntimeTraits, RuntimeError> {
        Ok(RuntimeTraits::UNKNOWN)
    }

    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError> {
        Ok(StackSpec::of(request))
    }

    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError> {
        let RuntimeChoice { name, source, .. } = &spec.runtime;
        let RuntimeSource::External { url, watch, lookup } = source else {
            return Err(RuntimeError::UnknownRuntime {
                name: name.clone(),
                nearest: None,
                known: Vec::new(),
            });
        };
        let external = External::find(name, url, lookup, watch.as_ref())?;
        let (app, page) = (spec.app.clone(), spec.page.clone());
        Ok(Box::new(ExternalStack { external, app, page, page_result: None }))
    }
}

/// A server that already runs, and the page that shows that its app works.
struct ExternalStack {
    external: External,
    app: App,
    page: PageRequest,
    page_result: Option<PageResult>,
}

impl Stack for ExternalStack {
    fn name(&self) -> &str {
        &self.external.name
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            addresses: self.external.target.addresses.clone(),
            host: Some(self.external.host().to_owned()),
            base: Site::base(&self.external).to_owned(),
        }
    }

    fn record(&self) -> RuntimeRecord {
        self.external.record()
    }

    fn isolation(&self) -> IsolationRecord {
        self.external.isolation()
    }

    fn group(&self) -> ProcessGroup {
        self.external.group()
    }

    fn page(&self) -> PageRequest {
        self.page.clone()
    }

    fn page_result(&self) -> Option<&PageResult> {
        self.page_result.as_ref()
    }

    fn request_page(&mut self) -> Result<(), RuntimeError> {
        let page_result = self.external.request_page(&self.app, &self.page)?;
        self.page.path = Some(page_result.path.clone());
        self.page_result = Some(page_result);
        Ok(())
    }

    fn use_page(&mut self, page: PageRequest) -> Result<(), RuntimeError> {
        self.page = page;
        self.request_page()
    }

    fn verify(&self, requests: &[&RequestSpec]) -> Result<ObservedState, RuntimeError> {
        Ok(self.external.verify(&self.app, &self.page, requests)?)
    }

    fn comparable_answer(&self) -> Result<String, RuntimeError> {
        Ok(self.external.answer(&self.app, &self.page)?)
    }

    fn gone(&self) -> Option<StackLoss> {
        self.external.gone().map(|watch| StackLoss::Ended { watch })
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, RuntimeError> {
        Ok(Vec::new())
    }
}

impl Site for ExternalStack {
    fn send(&self, request: &SiteRequest<'_>, within: Duration) -> Result<Answer, ClientError> {
        self.external.send(request, within)
    }

    fn hosts(&self) -> Vec<String> {
        self.external.hosts()
    }

    fn base(&self) -> &str {
        Site::base(&self.external)
    }
}
