"""Folders of progress that are damaged: refused, or mended."""

import numpy as np
import pytest
from damaged_progress import DAMAGES, Kept, folder, foreign, forged, rewritten, swapped


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Kept(tmp_path_factory.mktemp("damage"))


def _damaged(kept, seed, times):
    """Damage a whole folder so many times; how often the run was refused, and how many blocks were simulated."""
    rng = np.random.default_rng(seed)
    refused = again = 0
    for turn in range(times):
        kept.restore()
        damage = DAMAGES[turn % len(DAMAGES)]
        names = rng.choice(kept.names, rng.choice([1, 1, 2, len(kept.names)]), replace=False)
        for name in names:
            damage(kept, rng, str(name))
        count = kept.goes_on()
        if count is None:
            refused += 1
            continue
        assert count <= (2 if damage is swapped else 1) * len(names) or damage is rewritten
        again += count
    return refused, again


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_refused_or_mended(kept, damage):
    """A block that is damaged is simulated again, and no other; what takes its place is refused."""
    rng = np.random.default_rng(7)
    blocks = [name for name in kept.names if name != "run.toml"]
    for name in ["run.toml", *rng.choice(blocks, 5 if damage in (forged, rewritten) else 2, replace=False)]:
        kept.restore()
        damage(kept, rng, str(name))
        count = kept.goes_on()
        if damage is folder:
            assert count is None
        elif damage is not rewritten and (damage, name) != (foreign, "run.toml"):
            most = 2 if damage is swapped else 1
            assert count is not None
            assert count <= (most if name != "run.toml" or damage in (swapped, forged) else 0)


@pytest.mark.slow
def test_hundreds_of_damages(kept):
    """Of every kind, and to several files."""
    refused, again = _damaged(kept, 1, 200)
    assert refused > 7
    assert again > 125
