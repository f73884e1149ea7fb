"""What the penalties paper prints and does not hold as printed."""

from jaxbandit.papers.claim import Finding

FINDINGS: tuple[Finding, ...] = ()
