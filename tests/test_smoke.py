"""Every shipped config, in its small form, from command to page."""

import re

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from commands import ROOT
from drawn import watched
from sketched import sketched

from thesiskit.cli import main

# files by experiment that reviewers are to check
REVIEWED: dict[str, list[str]] = {}
for entry in yaml.safe_load((ROOT / "codecheck.yml").read_text())["manifest"]:
    _, _experiment, _file = entry["file"].split("/", 2)
    REVIEWED.setdefault(_experiment, []).append(_file)

# whose figures are drawn for print, too, as those of tests/report are: it takes four drawings
PRINTED = ("null", "samplers", "colon-pool")
# whose figures are looked at: with those above they have figures of every part
DRAWN = (*PRINTED, "colon", "correlation-lattice", "mixture-exact", "naive-simulation",
         "parameter-reduction", "regression", "text")  # fmt: skip
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))


def arguments(config, folder):
    return ["run", config.stem, "--smoke", "--results", str(folder)]


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_figures_of_every_config_are_legible(config, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with watched() as (defects, _):
        done = CliRunner().invoke(main, arguments(config, tmp_path))
    assert done.exit_code == 0, done.output
    assert defects == []
    assert (tmp_path / f"{config.stem}-smoke" / "report.html").stat().st_size < 600_000


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_config(config, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    drawn = config.stem in DRAWN
    with watched(printed=config.stem in PRINTED) if drawn else sketched() as watching:
        first = CliRunner().invoke(main, arguments(config, tmp_path))
    assert first.exit_code == 0, first.output
    assert not drawn or watching[0] == []  # no defects
    folder = tmp_path / f"{config.stem}-smoke"
    html = (folder / "report.html").read_text()
    assert not re.search(r"""(src|href)=["']?https?://""", html)  # one self-contained page
    shown = re.sub(r"<script.*?</script>|data:image[^\"]*", "", html, flags=re.DOTALL)
    assert "nan" not in shown.lower().split()
    assert len(html) < 600_000
    claimed = yaml.safe_load(config.read_text())["report"].get("thesis")
    assert html.count("Not tested, because the data are reduced") == bool(claimed)
    ids = re.findall(r'\bid="([^"]+)"', re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    assert len(ids) == len(set(ids))
    figures = list((folder / "figures").glob("*.png"))
    tables = list((folder / "tables").glob("*.csv"))
    assert figures + tables
    for figure in figures:
        assert figure.with_suffix(".pdf").exists()
        assert f'id="{figure.stem}"' in html
    drawings = re.findall(r'<img src="data:image/[a-z+]+;(?:base64|utf8),', html)
    assert len(drawings) == len(figures)
    for csv in tables:
        assert len(pd.read_csv(csv)) > 0
        if csv.stem == "statements":
            assert set(pd.read_csv(csv)["verdict"]) == {"not tested"}
        assert csv.with_suffix(".md").exists()
        for name, column in pd.read_csv(csv, dtype=str).items():
            known = column.dropna()
            assert len(known) in (0, len(column)) or not known.str.fullmatch(r"-?\d+\.0").all(), (
                f"{csv.name}: integers next to missing values in {name!r} are written as floats"
            )
        assert (
            "tabular" in csv.with_suffix(".tex").read_text()
            or "longtable" in csv.with_suffix(".tex").read_text()
        )
    for name in REVIEWED.get(config.stem, ()):
        assert (folder / name).exists(), f"codecheck.yml names {name}"
    assert (folder / "provenance.json").exists()
    assert (tmp_path / "index.html").exists()
    second = CliRunner().invoke(main, arguments(config, tmp_path))
    assert second.exit_code == 0
    assert second.output.count("already done") == first.output.count(" s)")
