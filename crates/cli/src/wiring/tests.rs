use std::fs;
use std::path::Path;
use std::sync::Arc;

use troupe_agents::tree_access::{ModelListState, SpawnCatalogue};
use troupe_engine::{SessionConfigurator, SessionSetup};
use troupe_mock_model::{MockServer, Screenplay};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};

use super::Wiring;
use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::home::TroupeHome;
use crate::layers::ConfigSource;

fn wiring(directory: &Path) -> Wiring {
    wiring_to(directory, NOBODY)
}

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:9/v1";

fn wiring_to(directory: &Path, base_url: &str) -> Wiring {
    wiring_with(directory, base_url, &[])
}

fn wiring_with(directory: &Path, base_url: &str, more: &[&str]) -> Wiring {
    let own = [
        "model_provider=local".to_owned(),
        format!("model_providers.local.base_url={base_url}"),
    ];
    let more = more.iter().map(|&argument| argument.to_owned());
    let source = ConfigSource {
        home: TroupeHome::at(directory.join("home")),
        overrides: ConfigOverrides {
            config: own.into_iter().chain(more).collect(),
            ..ConfigOverrides::default()
        },
        layers: LayerSelection::default(),
        flags: Vec::new(),
    };
    Wiring::new(source, directory, SessionSource::Exec).unwrap()
}

fn configure(wiring: &Wiring, cwd: &Path) -> SessionSetup {
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
    let wiring = wiring_with(directory.path(), NOBODY, &["model=m"]);
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
    let wiring = wiring_with(directory.path(), NOBODY, &["model=m"]);
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

/// A model that is not built in is looked for in the provider's list, which is asked for once.
#[test]
fn models_of_the_provider_are_known_once_it_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let names = |offers: &dyn SpawnCatalogue| -> Vec<String> {
        let models = offers.models().unwrap().into_iter();
        models.map(|model| model.name).collect()
    };
    block_on(async {
        let screenplay: Screenplay = "[[model]]\nid = 'scripted'\n[[scene]]\n".parse().unwrap();
        let server = MockServer::start(screenplay, ([127, 0, 0, 1], 0).into())
            .await
            .unwrap();
        let wiring = wiring_with(directory.path(), &server.base_url(), &["model=elsewhere"]);
        let offers = wiring.tree_options(None).catalogue;
        assert_eq!(names(&*offers), ["elsewhere"]);
        assert_eq!(offers.listing(), ModelListState::Loading);
        while offers.listing() == ModelListState::Loading {
            tokio::task::yield_now().await;
        }
        assert_eq!(offers.listing(), ModelListState::Whole);
        assert_eq!(names(&*offers), ["elsewhere", "scripted"]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_provider_without_a_list_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        let wiring = wiring_to(directory.path(), "http://127.0.0.1:9/v1");
        let offers = wiring.tree_options(None).catalogue;
        while offers.listing() == ModelListState::Loading {
            tokio::task::yield_now().await;
        }
        let ModelListState::Unavailable { why } = offers.listing() else {
            panic!("nobody listens there");
        };
        assert!(why.contains("127.0.0.1:9"), "{why}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_session_says_in_its_configuration_what_its_tree_is_like() {
    let directory = tempfile::tempdir().unwrap();
    let wiring = wiring_to(directory.path(), "http://127.0.0.1:9/v1");
    let options = wiring.tree_options(None);
    let reader = options.reader.unwrap();
    let read = |config: serde_json::Value| {
        let request = ConfigureSession {
            config: config.as_object().unwrap().clone(),
            ..ConfigureSession::default()
        };
        reader.read(&request, None)
    };
    let settings =
        read(serde_json::json!({"agents.enabled": false, "agents.max_depth": 1})).unwrap();
    assert!(settings.families.is_empty());
    assert_eq!(settings.limits.max_depth, 1);
    let earlier = reader.read(&ConfigureSession::default(), Some(false));
    assert!(earlier.unwrap().families.is_empty());
    let others = read(serde_json::json!({"agents": {"tools": ["subagents"]}})).unwrap();
    assert_eq!(others.families, [troupe_agents::Family::Subagents]);
    assert_eq!(others.limits, options.limits);
    let refused = read(serde_json::json!({"agents.max_depth": "deep"})).unwrap_err();
    assert!(refused.message.contains("max_depth"), "{}", refused.message);
}
