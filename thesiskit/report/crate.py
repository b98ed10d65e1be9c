"""What was made from what, as RO-Crate metadata: ro-crate-metadata.json beside the results.

The file has the form of a Process Run Crate (https://w3id.org/ro/wfrun/process/0.5).  Its root is
the folder of the experiment.  Each stage, and the report, is an action: it has the time at which
it ended, its instrument is thesiskit with the version and digest of its code, its objects are the
config, the seed and the data, and its results are files with their sha256.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thesiskit.files import Results, now, sha256
from thesiskit.report.outputs import FOLDERS

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

NAME = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
TERMS = "https://w3id.org/ro/terms/workflow-run/context"  # it defines sha256
ORDER = ("simulate", "select", "compress", "fit", "predict")  # in which stages are made
MADE = re.compile(r"[0-9]{4}(-[^/]+)?\.(npz|nc)")  # names of the files of stages
KINDS = {
    "csv": "text/csv", "html": "text/html", "json": "application/json", "md": "text/markdown",
    "nc": "application/netcdf", "npz": "application/zip", "pdf": "application/pdf",
    "png": "image/png", "tex": "application/x-tex",
}  # fmt: skip


def crate_text(results: Results, written: Mapping[str, str]) -> str:
    """Return the text of ro-crate-metadata.json for an experiment that is finished.

    written : the files of its report with their sha256.
    """
    from rocrate.rocrate import ROCrate  # a fifth of a second: only where a report is written

    record = results.provenance()
    config = record["config"]
    ended = {stage: entry["finished"] for stage, entry in record.get("stages", {}).items()}
    crate = ROCrate(version="1.1")
    crate.metadata.extra_contexts.append(TERMS)
    crate.datePublished = max(ended.values(), default=now())
    root = crate.root_dataset
    root["conformsTo"] = _entity(
        crate, PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
    )
    root["name"] = f"{config['title']} (results of thesiskit, experiment {config['experiment']})"
    root["description"] = config["about"]
    kind, versions = "SoftwareApplication", {"Python": record["python"], **record["packages"]}
    instrument = _entity(
        crate,
        "#thesiskit",
        kind,
        name="thesiskit",
        softwareVersion=record["code"]["version"],
        identifier=f"code digest {record['code']['digest']}",
        operatingSystem=record["machine"]["system"],
        softwareRequirements=[  # the packages that numbers may depend on
            _entity(crate, f"#{name.lower()}", kind, name=name, softwareVersion=version)
            for name, version in versions.items()
        ],
    )
    objects = _objects(crate, record)
    made = {  # by each stage, whose folder has a file for each block
        folder.name: sorted(path for path in folder.iterdir() if MADE.fullmatch(path.name))
        for folder in results.folder.iterdir()
        if folder.name not in FOLDERS and folder.is_dir()
    }
    places = {stage: number for number, stage in enumerate(ORDER)}
    stages = sorted(filter(made.get, made), key=lambda name: (places.get(name, len(ORDER)), name))
    for stage in [*stages, "report"]:
        files = {f"{stage}/{path.name}": sha256(path) or "" for path in made.get(stage, ())}
        entities = [
            crate.add_file(
                dest_path=name,
                properties={
                    "name": name,
                    "sha256": digest,
                    "encodingFormat": KINDS.get(
                        name.rpartition(".")[2], "application/octet-stream"
                    ),
                },
            )
            for name, digest in (files if stage != "report" else written).items()
        ]
        action = crate.add_action(
            instrument,
            identifier=f"#make-{stage}",
            object=objects,
            result=entities,
            properties={
                "name": f"thesiskit {stage}",
                "actionStatus": "http://schema.org/CompletedActionStatus",
                **({"endTime": ended[stage]} if stage in ended and stage != "report" else {}),
            },
        )
        root.append_to("mentions", action)
        objects = [*objects, *entities]
    return json.dumps(crate.metadata.generate(), indent=2, ensure_ascii=False) + "\n"


def _entity(crate: "ROCrate", name: str, kind: str, /, **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, name, properties={"@type": kind, **properties}))


def _objects(crate: "ROCrate", record: Mapping[str, Any]) -> list[Any]:
    about = {
        "name": "Config and provenance",
        "description": "The config with all defaults, the seed, the digests of data and code, and "
        "when each stage ended. Later commands add to it, so it has no digest here.",
        "encodingFormat": KINDS["json"],
    }
    objects = [
        crate.add_file(dest_path="provenance.json", properties=about),
        _entity(crate, "#seed", "PropertyValue", name="seed", value=record["seed"]),
    ]
    source, data = record["config"].get("data"), record.get("data", {})
    if source is not None:
        how = {"sha256": data["sha256"]} if data.get("sha256") else {}
        name = f"data.source: {source['source']}"
        what = "digest of the data as they were read" if how else "drawn from the seed"
        objects.append(_entity(crate, "#data", "CreativeWork", name=name, description=what, **how))
    for number, (path, digest) in enumerate(sorted(data.get("files", {}).items()), 1):
        # not a part of the folder: it stays where the user has it
        words = {"name": path, "description": "a file of data, outside of this folder"}
        objects.append(
            _entity(crate, f"#data-file-{number}", "CreativeWork", sha256=digest, **words)
        )
    return objects
