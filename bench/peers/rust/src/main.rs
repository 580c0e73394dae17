//! A peer of the operator for its benchmark: the same job, as a team that knows kube-rs would write it. The
//! marketplace's key comes from MARKETPLACE_API_KEY, the API server from KUBECONFIG.

mod controller;
mod market;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use controller::{Context, GpuInstance, on_error, reconcile};
use futures::{StreamExt, channel::mpsc};
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use market::Market;

/// The value that follows a flag.
fn flag(name: &str) -> Result<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
    arguments.next().with_context(|| format!("{name} is missing"))
}

#[tokio::main]
async fn main() -> Result<()> {
    let paced = std::env::args().any(|argument| argument == "--paced");
    let key = std::env::var("MARKETPLACE_API_KEY").context("MARKETPLACE_API_KEY")?;
    let client = Client::try_default().await?;
    let context = Arc::new(Context {
        market: Market::new(flag("--marketplace-url")?, key, paced)?,
        recorder: Recorder::new(client.clone(), Reporter::from("rust-peer")),
        poll: Duration::from_secs(flag("--poll-seconds")?.parse()?),
        objects: Default::default(),
        client: client.clone(),
    });
    let (changed, changes) = mpsc::unbounded();
    tokio::spawn(poll(context.clone(), changed));
    let instances: Api<GpuInstance> = Api::namespaced(client, &flag("--namespace")?);
    Controller::new(instances, watcher::Config::default())
        .reconcile_on(changes)
        .shutdown_on_signal()
        .run(reconcile, on_error, context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

/// Lists all machines once per interval, and passes on whose machine changed.
async fn poll(context: Arc<Context>, changed: mpsc::UnboundedSender<ObjectRef<GpuInstance>>) {
    loop {
        match context.market.poll().await {
            Ok(labels) => {
                let objects = context.objects.lock().expect("no holder panics");
                for object in labels.iter().filter_map(|label| objects.get(label)) {
                    let _ = changed.unbounded_send(object.clone());
                }
            }
            Err(error) => eprintln!("the list failed: {error:#}"),
        }
        tokio::time::sleep(context.poll).await;
    }
}
