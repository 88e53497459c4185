use std::fs;
use std::path::Path;
use std::sync::Arc;

use troupe_engine::{Configurator, Setup};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};

use super::Wiring;
use crate::arguments::{Layers, Overrides};
use crate::commands::block_on;
use crate::home::Home;
use crate::layers::ConfigSource;

fn wiring(directory: &Path) -> Wiring {
    let source = ConfigSource {
        home: Home::at(directory.join("home")),
        overrides: Overrides {
            config: vec![
                "model_provider=local".to_owned(),
                "model_providers.local.base_url=http://127.0.0.1:9/v1".to_owned(),
            ],
        },
        layers: Layers::default(),
        flags: Vec::new(),
    };
    Wiring::new(source, directory, SessionSource::Exec).unwrap()
}

fn configure(wiring: &Wiring, cwd: &Path) -> Setup {
    let request = ConfigureSession {
        overrides: TurnOverrides {
            cwd: Some(cwd.to_owned()),
            ..TurnOverrides::default()
        },
        ephemeral: true,
        ..ConfigureSession::default()
    };
    block_on(async { Ok(wiring.configure(&request).await.unwrap()) }).unwrap()
}

/// A child must not cost a TLS set-up.
#[test]
fn sessions_share_one_model_per_provider() {
    let directory = tempfile::tempdir().unwrap();
    let wiring = wiring(directory.path());
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    let models = [directory.path(), &other].map(|cwd| configure(&wiring, cwd).model);
    assert!(Arc::ptr_eq(&models[0], &models[1]));
}

#[test]
fn what_was_read_of_a_directory_counts_as_long_as_the_program_runs() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("home/config.toml");
    fs::create_dir(config.parent().unwrap()).unwrap();
    fs::write(&config, "model = \"before\"").unwrap();
    let wiring = wiring(directory.path());
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    for cwd in [directory.path(), &other] {
        assert_eq!(configure(&wiring, cwd).context.model, "before");
    }
    fs::write(&config, "model = \"after\"").unwrap();
    for cwd in [directory.path(), &other] {
        assert_eq!(configure(&wiring, cwd).context.model, "before");
    }
}

#[test]
fn servers_are_read_again_when_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("home/config.toml");
    fs::create_dir(config.parent().unwrap()).unwrap();
    let wiring = wiring(directory.path());
    let failed = block_on(async {
        let setup = wiring
            .configure(&ConfigureSession::default())
            .await
            .unwrap();
        let source = setup.tools.source().unwrap();
        assert!(setup.tools.news().is_none(), "there is nothing to find out");
        fs::write(&config, "[mcp_servers.ore]\ncommand = '/nowhere/ore'\n").unwrap();
        assert!(source.offer().await.failures.is_empty());
        source.refresh();
        assert!(setup.tools.news().is_some());
        Ok(source
            .offer()
            .await
            .failures
            .into_keys()
            .collect::<Vec<_>>())
    });
    assert_eq!(failed.unwrap(), ["ore"]);
}
