//! Table of known packages. `docs/workspaces.md` repeats it; a test compares the two.
//!
//! A package is listed if its registry has it under this name, and its programs are those of its manifest
//! (checked on 2026-11-17). It ignores its folder only if its published code reads and writes nothing there
//! and does not ask for roots: `.env` counts as reading.

use super::Folder::{self, DotEnv, Ignored, Unknown};
use switchboard_core::StatePolicy::{self, Auto, Backend, Client, None};

/// One server under all its names.
pub(super) struct Row {
    /// Each with its registry: `npm:`, `pypi:`, `image:`, or `program:` for an installed one.
    pub(super) names: &'static [&'static str],
    pub(super) state: StatePolicy,
    pub(super) folder: Folder,
}

const fn row(names: &'static [&'static str], state: StatePolicy, folder: Folder) -> Row {
    Row { names, state, folder }
}

/// Groups of servers.
pub(super) const KNOWN: &[(&str, &[Row])] = &[
    (
        "Time, web pages and calculation",
        &[
            row(&["pypi:mcp-server-time", "program:mcp-server-time", "image:mcp/time"], None, Ignored),
            row(&["npm:time-mcp", "program:time-mcp"], None, Ignored),
            row(&["pypi:mcp-server-fetch", "program:mcp-server-fetch", "image:mcp/fetch"], None, Ignored),
            row(&["npm:@tokenizin/mcp-npx-fetch", "program:mcp-npx-fetch"], None, Ignored),
            row(&["npm:mcp-server-fetch-typescript", "program:mcp-server-fetch-typescript"], None, Ignored),
            row(&["npm:mcp-fetch-server", "program:mcp-fetch-server"], None, Ignored),
            row(&["pypi:mcp-server-calculator", "program:mcp-server-calculator"], None, Ignored),
            row(&["npm:@antv/mcp-server-chart", "program:mcp-server-chart"], None, Ignored),
        ],
    ),
    (
        "Memory and thinking",
        &[
            row(&["npm:@modelcontextprotocol/server-memory", "program:mcp-server-memory"], None, Ignored),
            // Its graph is in the container, which is removed when it stops.
            row(&["image:mcp/memory"], Backend, Ignored),
            row(
                &[
                    "npm:@modelcontextprotocol/server-sequential-thinking",
                    "program:mcp-server-sequential-thinking",
                    "image:mcp/sequentialthinking",
                ],
                Client,
                Ignored,
            ),
            row(
                &["npm:mcp-sequentialthinking-tools", "program:mcp-sequentialthinking-tools"],
                Client,
                Ignored,
            ),
            row(&["npm:@pinecone-database/mcp", "program:pinecone-mcp"], Auto, Ignored),
        ],
    ),
    (
        "Search",
        &[
            row(
                &["npm:@modelcontextprotocol/server-brave-search", "program:mcp-server-brave-search"],
                None,
                Ignored,
            ),
            row(
                &["npm:@brave/brave-search-mcp-server", "program:brave-search-mcp-server"],
                None,
                DotEnv("BRAVE_API_KEY"),
            ),
            row(&["image:mcp/brave-search"], None, Ignored),
            row(&["npm:tavily-mcp", "program:tavily-mcp"], None, DotEnv("TAVILY_API_KEY")),
            row(&["npm:exa-mcp-server", "program:exa-mcp-server"], None, Ignored),
            row(&["npm:@perplexity-ai/mcp-server"], None, Ignored),
            row(&["npm:server-perplexity-ask", "program:mcp-server-perplexity-ask"], None, Ignored),
            row(&["pypi:mcp-server-perplexity", "program:mcp-server-perplexity"], None, Ignored),
            row(&["pypi:perplexity-mcp"], None, Ignored),
            row(&["npm:duckduckgo-mcp-server"], None, Ignored),
            row(&["pypi:duckduckgo-mcp-server", "program:duckduckgo-mcp-server"], None, Ignored),
            row(&["pypi:ddg-mcp", "program:ddg-mcp"], None, Ignored),
            row(&["npm:mcp-searxng", "program:mcp-searxng", "image:isokoliuk/mcp-searxng"], None, Ignored),
            row(&["npm:serper-search-scrape-mcp-server"], None, Ignored),
            row(&["pypi:serper-mcp-server", "program:serper-mcp-server"], None, Ignored),
            row(&["npm:linkup-mcp-server", "program:linkup-mcp-server"], None, Ignored),
            row(&["npm:jina-mcp-tools", "program:jina-mcp-tools"], None, Ignored),
            row(&["npm:@adenot/mcp-google-search", "program:mcp-google-search"], None, Ignored),
        ],
    ),
    (
        "Scraping",
        &[
            row(&["npm:firecrawl-mcp", "program:firecrawl-mcp"], Auto, DotEnv("FIRECRAWL_API_KEY")),
            row(&["npm:@apify/actors-mcp-server", "program:actors-mcp-server"], Auto, Ignored),
            row(&["npm:@brightdata/mcp"], Auto, Ignored),
            row(&["pypi:oxylabs-mcp", "program:oxylabs-mcp"], None, Ignored),
            row(&["pypi:scrapegraph-mcp", "program:scrapegraph-mcp"], Auto, Ignored),
            row(&["npm:@openbnb/mcp-server-airbnb", "program:mcp-server-airbnb"], None, Ignored),
        ],
    ),
    (
        "Documentation and knowledge",
        &[
            row(&["npm:@upstash/context7-mcp", "program:context7-mcp"], None, Ignored),
            row(&["npm:ref-tools-mcp", "program:ref-tools-mcp"], Auto, Ignored),
            row(&["npm:deepwiki-mcp", "program:deepwiki-mcp"], None, Ignored),
            row(&["npm:mcp-deepwiki"], None, Ignored),
            row(&["npm:@mui/mcp"], None, Ignored),
            row(&["npm:@magicuidesign/mcp"], None, Ignored),
            row(&["npm:@heroui/react-mcp", "program:heroui-react-mcp"], None, Ignored),
            row(&["npm:@chakra-ui/react-mcp", "program:chakra-ui-mcp"], None, Ignored),
            row(&["npm:@ark-ui/mcp", "program:ark-ui-mcp"], None, Ignored),
            row(&["npm:@primevue/mcp", "program:primevue-mcp"], None, Ignored),
            row(&["npm:@mantine/mcp-server"], None, Ignored),
            row(
                &[
                    "pypi:awslabs.aws-documentation-mcp-server",
                    "program:awslabs.aws-documentation-mcp-server",
                ],
                None,
                Ignored,
            ),
            row(&["npm:wikipedia-mcp"], None, Ignored),
            row(&["pypi:wikipedia-mcp", "program:wikipedia-mcp"], None, Ignored),
            row(&["pypi:mcp-hn", "program:mcp-hn"], None, Ignored),
            row(&["pypi:mcp-server-reddit", "program:mcp-server-reddit"], None, Ignored),
            row(&["pypi:mcp-simple-pubmed", "program:mcp-simple-pubmed"], None, Ignored),
            row(&["pypi:pubmedmcp", "program:pubmedmcp"], None, Ignored),
            row(
                &["npm:@kimtaeyoon83/mcp-server-youtube-transcript", "program:mcp-server-youtube-transcript"],
                None,
                Ignored,
            ),
            row(&["npm:@sinco-lab/mcp-youtube-transcript"], None, Ignored),
            row(&["pypi:mcp-youtube-transcript", "program:mcp-youtube-transcript"], None, Ignored),
            row(
                &["npm:youtube-data-mcp-server", "program:youtube-data-mcp-server"],
                None,
                DotEnv("YOUTUBE_API_KEY"),
            ),
        ],
    ),
    (
        "Translation, weather and maps",
        &[
            row(&["npm:deepl-mcp-server", "program:deepl-mcp-server"], None, Ignored),
            row(&["npm:@h1deya/mcp-server-weather", "program:mcp-server-weather"], None, Ignored),
            row(&["pypi:mcp-weather-server", "program:mcp_weather_server"], None, Ignored),
            row(
                &["npm:@modelcontextprotocol/server-google-maps", "program:mcp-server-google-maps"],
                None,
                Ignored,
            ),
            row(&["pypi:google-maps-mcp", "program:google-maps-mcp"], None, Ignored),
            row(&["npm:@baidumap/mcp-server-baidu-map", "program:mcp-server-baidu-map"], None, Ignored),
            row(&["npm:@amap/amap-maps-mcp-server", "program:mcp-amap"], None, Ignored),
            row(
                &["pypi:awslabs.aws-location-mcp-server", "program:awslabs.aws-location-mcp-server"],
                None,
                Ignored,
            ),
        ],
    ),
    (
        "Code hosts and tickets",
        &[
            row(
                &["npm:@modelcontextprotocol/server-github", "program:mcp-server-github", "image:mcp/github"],
                None,
                Ignored,
            ),
            row(&["image:ghcr.io/github/github-mcp-server", "program:github-mcp-server"], Auto, Ignored),
            row(
                &["npm:@modelcontextprotocol/server-gitlab", "program:mcp-server-gitlab", "image:mcp/gitlab"],
                None,
                Ignored,
            ),
            row(&["npm:linear-mcp-server", "program:linear-mcp-server"], Auto, DotEnv("LINEAR_API_KEY")),
            row(&["npm:@tacticlaunch/mcp-linear", "program:mcp-linear"], Auto, DotEnv("LINEAR_API_TOKEN")),
            row(&["npm:@roychri/mcp-server-asana", "program:mcp-server-asana"], Auto, Ignored),
            row(&["pypi:mcp-server-jira", "program:mcp-server-jira"], Auto, Ignored),
            row(&["pypi:mcp-server-sentry", "program:mcp-server-sentry"], None, Ignored),
            row(&["npm:@doist/todoist-mcp", "program:todoist-mcp"], Auto, DotEnv("TODOIST_API_KEY")),
            row(&["pypi:todoist-mcp-server", "program:todoist-mcp-server"], Auto, Ignored),
            row(&["pypi:mcp-trello", "program:mcp-trello"], Auto, Ignored),
            row(&["pypi:pagerduty-mcp", "program:pagerduty-mcp"], Auto, Ignored),
        ],
    ),
    (
        "Documents, chat and mail",
        &[
            row(
                &["npm:@notionhq/notion-mcp-server", "program:notion-mcp-server", "image:mcp/notion"],
                Auto,
                Ignored,
            ),
            row(&["npm:airtable-mcp-server", "program:airtable-mcp-server"], Auto, Ignored),
            row(&["npm:webflow-mcp-server", "program:webflow-mcp-server"], Auto, Ignored),
            row(
                &["npm:@modelcontextprotocol/server-slack", "program:mcp-server-slack", "image:mcp/slack"],
                Auto,
                Ignored,
            ),
            row(&["npm:@zencoderai/slack-mcp-server"], Auto, Ignored),
            row(&["pypi:mcp-discord"], Auto, Ignored),
            row(&["npm:@twilio-alpha/mcp", "program:twilio-mcp-server"], Auto, Ignored),
            row(&["npm:resend-mcp", "program:resend-mcp"], Auto, DotEnv("RESEND_API_KEY")),
            row(&["pypi:zendesk-mcp-server", "program:zendesk-mcp-server"], Auto, Ignored),
            row(
                &["npm:@hubspot/mcp-server", "program:mcp-hubspot"],
                Auto,
                DotEnv("PRIVATE_APP_ACCESS_TOKEN"),
            ),
        ],
    ),
    (
        "Payment and finance",
        &[
            row(&["npm:@stripe/mcp"], Auto, Ignored),
            row(&["npm:@paddle/paddle-mcp"], Auto, Ignored),
            row(&["npm:square-mcp-server", "program:square-mcp-server"], Auto, Ignored),
            row(&["npm:@coingecko/coingecko-mcp"], None, Ignored),
            row(&["pypi:yfinance-mcp", "program:yfinance-mcp"], None, Ignored),
            row(&["pypi:yahoo-finance-mcp", "program:yahoo-finance-mcp"], None, Ignored),
            row(&["pypi:sec-edgar-mcp", "program:sec-edgar-mcp"], None, Ignored),
        ],
    ),
    (
        "Clouds and operations",
        &[
            row(&["npm:@supabase/mcp-server-supabase", "program:mcp-server-supabase"], Auto, Ignored),
            row(
                &[
                    "npm:@elastic/mcp-server-elasticsearch",
                    "program:mcp-server-elasticsearch",
                    "image:docker.elastic.co/mcp/elasticsearch",
                ],
                Auto,
                Ignored,
            ),
            row(&["npm:@winor30/mcp-server-datadog", "program:mcp-server-datadog"], Auto, Ignored),
            row(&["pypi:mcp-grafana", "program:mcp-grafana"], Auto, Ignored),
            row(&["npm:vercel-mcp", "program:vercel-mcp"], Auto, Ignored),
            row(&["npm:replicate-mcp"], Auto, Ignored),
            row(
                &["npm:@modelcontextprotocol/server-aws-kb-retrieval", "program:mcp-server-aws-kb-retrieval"],
                None,
                Ignored,
            ),
            row(
                &[
                    "pypi:awslabs.bedrock-kb-retrieval-mcp-server",
                    "program:awslabs.bedrock-kb-retrieval-mcp-server",
                ],
                Auto,
                Ignored,
            ),
            row(
                &["pypi:awslabs.cloudwatch-mcp-server", "program:awslabs.cloudwatch-mcp-server"],
                Auto,
                Ignored,
            ),
            row(
                &["pypi:awslabs.cloudtrail-mcp-server", "program:awslabs.cloudtrail-mcp-server"],
                Auto,
                Ignored,
            ),
            row(
                &["pypi:awslabs.cost-explorer-mcp-server", "program:awslabs.cost-explorer-mcp-server"],
                Auto,
                Ignored,
            ),
            row(&["pypi:mcp-server-home-assistant", "program:mcp-server-home-assistant"], Auto, Ignored),
        ],
    ),
    (
        "Bridges to remote servers",
        &[
            row(&["npm:mcp-remote", "program:mcp-remote"], Auto, Ignored),
            row(&["pypi:mcp-proxy-for-aws", "program:mcp-proxy-for-aws"], Auto, Ignored),
        ],
    ),
    (
        "Browsers and shells",
        &[
            row(&["npm:@playwright/mcp", "program:playwright-mcp"], Client, Unknown),
            row(
                &["npm:@executeautomation/playwright-mcp-server", "program:playwright-mcp-server"],
                Client,
                Unknown,
            ),
            row(
                &["npm:@modelcontextprotocol/server-puppeteer", "program:mcp-server-puppeteer"],
                Client,
                Unknown,
            ),
            row(&["npm:chrome-devtools-mcp", "program:chrome-devtools-mcp"], Client, Unknown),
            row(&["npm:@browsermcp/mcp", "program:mcp-server-browsermcp"], Client, Unknown),
            row(&["npm:@wonderwhy-er/desktop-commander", "program:desktop-commander"], Client, Unknown),
        ],
    ),
    (
        "Files and repositories",
        &[
            row(
                &["npm:@modelcontextprotocol/server-filesystem", "program:mcp-server-filesystem"],
                None,
                Unknown,
            ),
            row(&["pypi:mcp-server-git", "program:mcp-server-git", "image:mcp/git"], None, Unknown),
            row(&["npm:@augmentcode/auggie", "program:auggie"], None, Unknown),
        ],
    ),
];
