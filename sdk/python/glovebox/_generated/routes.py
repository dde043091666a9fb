# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from api/openapi.yaml: change that, and run it again.
"""The routes of the API, by the names of their operations."""

from .._route import Route

SELF = Route(
    "self", "GET", "/",
    max_body=65536, idempotency=False)
HEALTH = Route(
    "health", "GET", "/healthz",
    max_body=65536, idempotency=False)
OPENAPI = Route(
    "openapi", "GET", "/openapi.json",
    max_body=65536, idempotency=False)
METRICS = Route(
    "metrics", "GET", "/metrics",
    max_body=65536, idempotency=False)
RUN = Route(
    "run", "POST", "/v1/run",
    max_body=8388608, idempotency=True)
JUDGE = Route(
    "judge", "POST", "/v1/judge",
    max_body=25165824, idempotency=False)
CREATE_SANDBOX = Route(
    "createSandbox", "POST", "/v1/sandboxes",
    max_body=1048576, idempotency=True)
LIST_SANDBOXES = Route(
    "listSandboxes", "GET", "/v1/sandboxes",
    max_body=65536, idempotency=False)
GET_SANDBOX = Route(
    "getSandbox", "GET", "/v1/sandboxes/{id}",
    max_body=65536, idempotency=False)
CHANGE_SANDBOX = Route(
    "changeSandbox", "PATCH", "/v1/sandboxes/{id}",
    max_body=1048576, idempotency=False)
KILL_SANDBOX = Route(
    "killSandbox", "DELETE", "/v1/sandboxes/{id}",
    max_body=65536, idempotency=False)
PAUSE_SANDBOX = Route(
    "pauseSandbox", "POST", "/v1/sandboxes/{id}/pause",
    max_body=65536, idempotency=False)
RESUME_SANDBOX = Route(
    "resumeSandbox", "POST", "/v1/sandboxes/{id}/resume",
    max_body=65536, idempotency=False)
SNAPSHOT_SANDBOX = Route(
    "snapshotSandbox", "POST", "/v1/sandboxes/{id}/snapshot",
    max_body=65536, idempotency=False)
FORK_SANDBOX = Route(
    "forkSandbox", "POST", "/v1/sandboxes/{id}/fork",
    max_body=65536, idempotency=False)
EXPORT_SANDBOX = Route(
    "exportSandbox", "GET", "/v1/sandboxes/{id}/export",
    max_body=65536, idempotency=False)
IMPORT_SANDBOX = Route(
    "importSandbox", "POST", "/v1/sandboxes/import",
    max_body=65536, idempotency=False)
GET_USAGE = Route(
    "getUsage", "GET", "/v1/sandboxes/{id}/usage",
    max_body=65536, idempotency=False)
GET_CONNECTIONS = Route(
    "getConnections", "GET", "/v1/sandboxes/{id}/connections",
    max_body=65536, idempotency=False)
INSTALL_PACKAGES = Route(
    "installPackages", "POST", "/v1/sandboxes/{id}/packages",
    max_body=1048576, idempotency=False)
CREATE_CONTEXT = Route(
    "createContext", "POST", "/v1/sandboxes/{id}/contexts",
    max_body=1048576, idempotency=False)
LIST_CONTEXTS = Route(
    "listContexts", "GET", "/v1/sandboxes/{id}/contexts",
    max_body=65536, idempotency=False)
DELETE_CONTEXT = Route(
    "deleteContext", "DELETE", "/v1/sandboxes/{id}/contexts/{cid}",
    max_body=65536, idempotency=False)
EXECUTE = Route(
    "execute", "POST", "/v1/sandboxes/{id}/contexts/{cid}/execute",
    max_body=8388608, idempotency=True)
EXECUTE_BY_SOCKET = Route(
    "executeBySocket", "GET", "/v1/sandboxes/{id}/contexts/{cid}/execute",
    max_body=65536, idempotency=False)
INTERRUPT_CONTEXT = Route(
    "interruptContext", "POST", "/v1/sandboxes/{id}/contexts/{cid}/interrupt",
    max_body=65536, idempotency=False)
REPLY_INPUT = Route(
    "replyInput", "POST", "/v1/sandboxes/{id}/contexts/{cid}/input",
    max_body=1048576, idempotency=False)
REPLY_TOOL = Route(
    "replyTool", "POST", "/v1/sandboxes/{id}/contexts/{cid}/tools/{call}",
    max_body=1048576, idempotency=False)
COMPLETE_CODE = Route(
    "completeCode", "POST", "/v1/sandboxes/{id}/contexts/{cid}/complete",
    max_body=1048576, idempotency=False)
INSPECT_CODE = Route(
    "inspectCode", "POST", "/v1/sandboxes/{id}/contexts/{cid}/inspect",
    max_body=1048576, idempotency=False)
RESTART_CONTEXT = Route(
    "restartContext", "POST", "/v1/sandboxes/{id}/contexts/{cid}/restart",
    max_body=65536, idempotency=False)
CHECKPOINT_CONTEXT = Route(
    "checkpointContext", "POST", "/v1/sandboxes/{id}/contexts/{cid}/checkpoint",
    max_body=65536, idempotency=False)
ROLLBACK_CONTEXT = Route(
    "rollbackContext", "POST", "/v1/sandboxes/{id}/contexts/{cid}/rollback",
    max_body=65536, idempotency=False)
FORK_CONTEXT = Route(
    "forkContext", "POST", "/v1/sandboxes/{id}/contexts/{cid}/fork",
    max_body=65536, idempotency=False)
LIST_DRY_RUNS = Route(
    "listDryRuns", "GET", "/v1/sandboxes/{id}/dry-runs",
    max_body=65536, idempotency=False)
COMMIT_DRY_RUN = Route(
    "commitDryRun", "POST", "/v1/sandboxes/{id}/dry-runs/{dry}/commit",
    max_body=65536, idempotency=False)
DISCARD_DRY_RUN = Route(
    "discardDryRun", "POST", "/v1/sandboxes/{id}/dry-runs/{dry}/discard",
    max_body=65536, idempotency=False)
GET_NOTEBOOK = Route(
    "getNotebook", "GET", "/v1/sandboxes/{id}/contexts/{cid}/notebook",
    max_body=65536, idempotency=False)
GET_NOTEBOOK_PAGE = Route(
    "getNotebookPage", "GET", "/v1/sandboxes/{id}/contexts/{cid}/notebook.html",
    max_body=65536, idempotency=False)
RUN_COMMAND = Route(
    "runCommand", "POST", "/v1/sandboxes/{id}/commands",
    max_body=1048576, idempotency=False)
START_PROCESS = Route(
    "startProcess", "POST", "/v1/sandboxes/{id}/processes",
    max_body=1048576, idempotency=False)
LIST_PROCESSES = Route(
    "listProcesses", "GET", "/v1/sandboxes/{id}/processes",
    max_body=65536, idempotency=False)
ATTACH_PROCESS = Route(
    "attachProcess", "GET", "/v1/sandboxes/{id}/processes/{pid}",
    max_body=65536, idempotency=False)
KILL_PROCESS = Route(
    "killProcess", "DELETE", "/v1/sandboxes/{id}/processes/{pid}",
    max_body=65536, idempotency=False)
WRITE_STDIN = Route(
    "writeStdin", "POST", "/v1/sandboxes/{id}/processes/{pid}/stdin",
    max_body=65536, idempotency=False)
CLOSE_STDIN = Route(
    "closeStdin", "DELETE", "/v1/sandboxes/{id}/processes/{pid}/stdin",
    max_body=65536, idempotency=False)
SIGNAL_PROCESS = Route(
    "signalProcess", "POST", "/v1/sandboxes/{id}/processes/{pid}/signal",
    max_body=65536, idempotency=False)
RESIZE_PROCESS = Route(
    "resizeProcess", "POST", "/v1/sandboxes/{id}/processes/{pid}/resize",
    max_body=65536, idempotency=False)
LIST_FILES = Route(
    "listFiles", "GET", "/v1/sandboxes/{id}/files",
    max_body=65536, idempotency=False)
CHANGE_FILES = Route(
    "changeFiles", "POST", "/v1/sandboxes/{id}/files",
    max_body=65536, idempotency=False)
WATCH_FILES = Route(
    "watchFiles", "GET", "/v1/sandboxes/{id}/files/watch",
    max_body=65536, idempotency=False)
READ_FILE = Route(
    "readFile", "GET", "/v1/sandboxes/{id}/files/{path}",
    max_body=65536, idempotency=False)
HEAD_FILE = Route(
    "headFile", "HEAD", "/v1/sandboxes/{id}/files/{path}",
    max_body=65536, idempotency=False)
WRITE_FILE = Route(
    "writeFile", "PUT", "/v1/sandboxes/{id}/files/{path}",
    max_body=65536, idempotency=False)
REMOVE_FILE = Route(
    "removeFile", "DELETE", "/v1/sandboxes/{id}/files/{path}",
    max_body=65536, idempotency=False)
GET_PORT = Route(
    "getPort", "GET", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
HEAD_PORT = Route(
    "headPort", "HEAD", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
POST_PORT = Route(
    "postPort", "POST", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
PUT_PORT = Route(
    "putPort", "PUT", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
PATCH_PORT = Route(
    "patchPort", "PATCH", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
DELETE_PORT = Route(
    "deletePort", "DELETE", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
OPTIONS_PORT = Route(
    "optionsPort", "OPTIONS", "/v1/sandboxes/{id}/ports/{port}/{path}",
    max_body=65536, idempotency=False)
CREATE_VOLUME = Route(
    "createVolume", "POST", "/v1/volumes",
    max_body=65536, idempotency=False)
LIST_VOLUMES = Route(
    "listVolumes", "GET", "/v1/volumes",
    max_body=65536, idempotency=False)
GET_VOLUME = Route(
    "getVolume", "GET", "/v1/volumes/{id}",
    max_body=65536, idempotency=False)
REMOVE_VOLUME = Route(
    "removeVolume", "DELETE", "/v1/volumes/{id}",
    max_body=65536, idempotency=False)
LIST_VOLUME_FILES = Route(
    "listVolumeFiles", "GET", "/v1/volumes/{id}/files",
    max_body=65536, idempotency=False)
CHANGE_VOLUME_FILES = Route(
    "changeVolumeFiles", "POST", "/v1/volumes/{id}/files",
    max_body=65536, idempotency=False)
READ_VOLUME_FILE = Route(
    "readVolumeFile", "GET", "/v1/volumes/{id}/files/{path}",
    max_body=65536, idempotency=False)
HEAD_VOLUME_FILE = Route(
    "headVolumeFile", "HEAD", "/v1/volumes/{id}/files/{path}",
    max_body=65536, idempotency=False)
WRITE_VOLUME_FILE = Route(
    "writeVolumeFile", "PUT", "/v1/volumes/{id}/files/{path}",
    max_body=65536, idempotency=False)
REMOVE_VOLUME_FILE = Route(
    "removeVolumeFile", "DELETE", "/v1/volumes/{id}/files/{path}",
    max_body=65536, idempotency=False)
CREATE_PORT_TOKEN = Route(
    "createPortToken", "POST", "/v1/sandboxes/{id}/port-tokens",
    max_body=65536, idempotency=False)
LIST_LANGUAGES = Route(
    "listLanguages", "GET", "/v1/languages",
    max_body=65536, idempotency=False)
LIST_TEMPLATES = Route(
    "listTemplates", "GET", "/v1/templates",
    max_body=65536, idempotency=False)
BUILD_TEMPLATE = Route(
    "buildTemplate", "POST", "/v1/templates",
    max_body=25165824, idempotency=False)
GET_TEMPLATE = Route(
    "getTemplate", "GET", "/v1/templates/{name}",
    max_body=65536, idempotency=False)
REMOVE_TEMPLATE = Route(
    "removeTemplate", "DELETE", "/v1/templates/{name}",
    max_body=65536, idempotency=False)
EXPORT_TEMPLATE = Route(
    "exportTemplate", "GET", "/v1/templates/{name}/archive",
    max_body=65536, idempotency=False)
IMPORT_TEMPLATE = Route(
    "importTemplate", "PUT", "/v1/templates/{name}/archive",
    max_body=65536, idempotency=False)
LIST_APPROVALS = Route(
    "listApprovals", "GET", "/v1/approvals",
    max_body=65536, idempotency=False)
DECIDE_APPROVAL = Route(
    "decideApproval", "POST", "/v1/approvals/{id}",
    max_body=65536, idempotency=False)
ANSWER_REVIEW = Route(
    "answerReview", "POST", "/v1/reviews/{id}",
    max_body=65536, idempotency=False)
LIST_AUDIT = Route(
    "listAudit", "GET", "/v1/audit",
    max_body=65536, idempotency=False)
LIST_EMERGENCY_STOPS = Route(
    "listEmergencyStops", "GET", "/v1/emergency-stop",
    max_body=65536, idempotency=False)
LIFT_EMERGENCY_STOP = Route(
    "liftEmergencyStop", "DELETE", "/v1/emergency-stop",
    max_body=65536, idempotency=False)
EMERGENCY_STOP = Route(
    "emergencyStop", "POST", "/v1/emergency-stop",
    max_body=65536, idempotency=False)
LIST_TENANTS = Route(
    "listTenants", "GET", "/v1/tenants",
    max_body=65536, idempotency=False)
CREATE_TENANT = Route(
    "createTenant", "POST", "/v1/tenants",
    max_body=65536, idempotency=False)
GET_TENANT = Route(
    "getTenant", "GET", "/v1/tenants/{tenant}",
    max_body=65536, idempotency=False)
CHANGE_TENANT = Route(
    "changeTenant", "PATCH", "/v1/tenants/{tenant}",
    max_body=65536, idempotency=False)
DELETE_TENANT = Route(
    "deleteTenant", "DELETE", "/v1/tenants/{tenant}",
    max_body=65536, idempotency=False)
LIST_KEYS = Route(
    "listKeys", "GET", "/v1/keys",
    max_body=65536, idempotency=False)
CREATE_KEY = Route(
    "createKey", "POST", "/v1/keys",
    max_body=65536, idempotency=False)
REVOKE_KEY = Route(
    "revokeKey", "DELETE", "/v1/keys/{key}",
    max_body=65536, idempotency=False)
ROTATE_KEY = Route(
    "rotateKey", "POST", "/v1/keys/{key}/rotate",
    max_body=65536, idempotency=False)

ROUTES = (
    SELF,
    HEALTH,
    OPENAPI,
    METRICS,
    RUN,
    JUDGE,
    CREATE_SANDBOX,
    LIST_SANDBOXES,
    GET_SANDBOX,
    CHANGE_SANDBOX,
    KILL_SANDBOX,
    PAUSE_SANDBOX,
    RESUME_SANDBOX,
    SNAPSHOT_SANDBOX,
    FORK_SANDBOX,
    EXPORT_SANDBOX,
    IMPORT_SANDBOX,
    GET_USAGE,
    GET_CONNECTIONS,
    INSTALL_PACKAGES,
    CREATE_CONTEXT,
    LIST_CONTEXTS,
    DELETE_CONTEXT,
    EXECUTE,
    EXECUTE_BY_SOCKET,
    INTERRUPT_CONTEXT,
    REPLY_INPUT,
    REPLY_TOOL,
    COMPLETE_CODE,
    INSPECT_CODE,
    RESTART_CONTEXT,
    CHECKPOINT_CONTEXT,
    ROLLBACK_CONTEXT,
    FORK_CONTEXT,
    LIST_DRY_RUNS,
    COMMIT_DRY_RUN,
    DISCARD_DRY_RUN,
    GET_NOTEBOOK,
    GET_NOTEBOOK_PAGE,
    RUN_COMMAND,
    START_PROCESS,
    LIST_PROCESSES,
    ATTACH_PROCESS,
    KILL_PROCESS,
    WRITE_STDIN,
    CLOSE_STDIN,
    SIGNAL_PROCESS,
    RESIZE_PROCESS,
    LIST_FILES,
    CHANGE_FILES,
    WATCH_FILES,
    READ_FILE,
    HEAD_FILE,
    WRITE_FILE,
    REMOVE_FILE,
    GET_PORT,
    HEAD_PORT,
    POST_PORT,
    PUT_PORT,
    PATCH_PORT,
    DELETE_PORT,
    OPTIONS_PORT,
    CREATE_VOLUME,
    LIST_VOLUMES,
    GET_VOLUME,
    REMOVE_VOLUME,
    LIST_VOLUME_FILES,
    CHANGE_VOLUME_FILES,
    READ_VOLUME_FILE,
    HEAD_VOLUME_FILE,
    WRITE_VOLUME_FILE,
    REMOVE_VOLUME_FILE,
    CREATE_PORT_TOKEN,
    LIST_LANGUAGES,
    LIST_TEMPLATES,
    BUILD_TEMPLATE,
    GET_TEMPLATE,
    REMOVE_TEMPLATE,
    EXPORT_TEMPLATE,
    IMPORT_TEMPLATE,
    LIST_APPROVALS,
    DECIDE_APPROVAL,
    ANSWER_REVIEW,
    LIST_AUDIT,
    LIST_EMERGENCY_STOPS,
    LIFT_EMERGENCY_STOP,
    EMERGENCY_STOP,
    LIST_TENANTS,
    CREATE_TENANT,
    GET_TENANT,
    CHANGE_TENANT,
    DELETE_TENANT,
    LIST_KEYS,
    CREATE_KEY,
    REVOKE_KEY,
    ROTATE_KEY,
)
