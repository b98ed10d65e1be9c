"""Files of draws: what xarray and ArviZ read from them is what xarray itself would write."""

import hashlib
import sys

import numpy as np
import pytest
import xarray

from thesiskit.estimators import MixtureClassifier, SequenceClassifier
from thesiskit.files import read_draws, write_draws, write_record
from thesiskit.models import mixture


def logistic_chain():
    """Return a fitted model of two chains, and the groups of their draws."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (30, 3)).astype(str), np.repeat(["a", "b", "c"], 10)
    model = SequenceClassifier(order=2, chains=2, iterations=40, burn_in=10, random_state=1)
    with pytest.warns(UserWarning, match="chains have not converged"):
        model.fit(X, y)
    return model, model._draws.as_arviz(
        {"names": (("name",), np.array(["α", ""])), "flags": (("name",), np.array([True, False]))},
        {"key": "k" * 64, "thin": 3},
    )


def mixture_chain():
    """Return a fitted mixture, and the groups of its draws."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (20, 6)), np.arange(20) % 2
    model = MixtureClassifier(chains=2, iterations=40, burn_in=10, random_state=1)
    with pytest.warns(UserWarning, match="chains have not converged"):
        model.fit(X, y)
    target, draws = model._posterior.target, model._posterior.draws
    groups = mixture.as_arviz(target, draws, mixture.diagnose(target, draws))
    return model, groups._replace(attributes=groups.attributes | {"key": "k" * 64})


@pytest.fixture(scope="module", params=[logistic_chain, mixture_chain])
def chain(request):
    return request.param()


def test_a_file_of_draws_is_what_xarray_writes(chain, tmp_path):
    groups = chain[1]
    write_draws(tmp_path / "a.nc", *groups)
    content = bytes(groups.to_xarray().to_netcdf(engine="h5netcdf"))
    (tmp_path / "b.nc").write_bytes(content)
    a, b = (xarray.load_datatree(tmp_path / f"{name}.nc", engine="h5netcdf") for name in "ab")
    xarray.testing.assert_identical(a, b)
    for name, node in b.children.items():
        for variable, values in node.variables.items():
            assert a[name].variables[variable].dtype == values.dtype, variable
    digest = hashlib.sha256(content).hexdigest()
    write_record(tmp_path / "b.key", {"key": "k" * 64, "sha256": digest})
    arrays, others = read_draws(tmp_path / "a.nc"), read_draws(tmp_path / "b.nc")
    assert arrays.keys() == others.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, others[name])
        assert values.dtype == others[name].dtype


def test_equal_draws_are_equal_files(chain, tmp_path):
    for name in "ab":
        write_draws(tmp_path / f"{name}.nc", *chain[1])
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_draws_need_xarray_only_when_they_are_asked_for(chain, monkeypatch):
    model = chain[0]
    assert set(model.draws_["posterior"].dims) >= {"chain", "draw"}
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"Fix: pip install 'thesiskit\[arviz\]'"):
        _ = model.draws_
