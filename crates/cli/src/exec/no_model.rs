//! The message for a user who has not configured a model yet.

pub const HOW_TO_CONFIGURE: &str = "\
Choose one:

  OpenAI           troupe login openai           (or export OPENAI_API_KEY or CODEX_API_KEY)
                   troupe exec \"…\"

  Anthropic        troupe login anthropic        (or export ANTHROPIC_API_KEY)
                   troupe exec -m claude-opus-5-5 \"…\"

  a local server   no key needed; the model's name is the server's
    llama.cpp      llama-server -m model.gguf --jinja
                   troupe exec -c model_provider=llamacpp -m model \"…\"
    Ollama         ollama pull qwen3
                   troupe exec -c model_provider=ollama -m qwen3 \"…\"
    vLLM           vllm serve NAME
                   troupe exec -c model_provider=vllm -m NAME \"…\"

  any other        in $TROUPE_HOME/config.toml (default ~/.troupe/config.toml):
                     model = \"NAME\"
                     model_provider = \"mine\"
                     [model_providers.mine]
                     base_url = \"https://host/v1\"
                     env_key = \"MINE_API_KEY\"
                     wire_api = \"responses\"        # or \"chat\" or \"messages\"

  none             troupe demo        a scripted model, real everything else

`troupe doctor` tells whether the server answers.";
