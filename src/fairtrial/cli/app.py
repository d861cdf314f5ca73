"""The command line's verbs: each is a door to a function elsewhere, imported only when it is used."""

from cyclopts import App

from fairtrial import __version__

_EVERYDAY = "Everyday"
_MORE = "More"

app = App(
    name="fairtrial",
    help="Put a change to an LLM server on trial against the baseline. Start with: fairtrial demo",
    version=__version__,
    help_on_error=False,
    help_format="plaintext",
)
plan_app = App(name="plan", help="Check, show, freeze and amend plans.", group=_MORE)
serve_app = App(
    name="serve", help="Put a plan's baseline into service on this host, and take it out.", group=_MORE
)
engine_app = App(name="engine", help="The reference engine.", group=_MORE)

_VERBS = "fairtrial.cli.verbs"
for _name, _text in (
    ("demo", "Run the built-in demonstration and show its decision."),
    ("init", "Write a small plan.toml to start from."),
    ("run", "Run a plan: freeze it, run every window, restore the baseline, judge, report."),
    ("report", "Show the report of a trial."),
    ("status", "Show what a trial has done and what is left."),
    ("resume", "Go on with an interrupted trial."),
    ("restore", "Bring the baseline of a trial back into service."),
):
    app.command(f"{_VERBS}:{_name}", name=_name, help=_text, group=_EVERYDAY)
app.command(
    "fairtrial.cli.ab_verb:ab",
    name="ab",
    help="Compare two running servers: which differs in what, and is the second no worse?",
    group=_EVERYDAY,
)
app.command(
    "fairtrial.cli.bench_verbs:bench",
    name="bench",
    help="Measure one endpoint: latencies, throughput, failures, and the client's own error.",
    group=_EVERYDAY,
)
app.command(
    "fairtrial.cli.doctor_verbs:doctor",
    name="doctor",
    help="Measure what this machine can measure honestly.",
    group=_EVERYDAY,
)
app.command(
    "fairtrial.cli.import_verbs:import_",
    name="import",
    help="Import a published campaign record and derive its figures again.",
    group=_MORE,
)
app.command(f"{_VERBS}:note", name="note", help="Add a note to a trial's ledger.", group=_MORE)
app.command(
    "fairtrial.cli.judge_verb:judge",
    name="judge",
    help="Derive the judgment again from the evidence; or judge a file of rows.",
    group=_MORE,
)
app.command(plan_app)
app.command(serve_app)
app.command(engine_app)
for _name, _text in (
    ("check", "List every problem of a plan and of this machine for it."),
    ("show", "Show the schedule: windows, launches, requests, time, how long the baseline is down."),
    ("freeze", "Freeze a plan into a trial directory without running it."),
    ("amend", "Record an amendment to a frozen plan."),
):
    _function = "freeze_into_trial" if _name == "freeze" else _name
    plan_app.command(f"fairtrial.cli.plan_verbs:{_function}", name=_name, help=_text)
plan_app.command(
    "fairtrial.cli.plan_power:power",
    name="power",
    help="Show what each number of repetitions can see of every requirement.",
)
for _name, _text in (
    ("load", "Start the baseline and leave it in service."),
    ("status", "Show the servers in service on this host."),
    ("unload", "Take the baseline out of service."),
):
    serve_app.command(f"fairtrial.cli.serve_verbs:{_name}", name=_name, help=_text)
engine_app.command(
    "fairtrial.cli.engine_verbs:serve", name="serve", help="Run the reference engine's server."
)
