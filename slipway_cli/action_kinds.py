"""The kinds of actions that can be asked for, by name; what they do is the server's business."""

KINDS = ("deploy_site", "update_site", "redeploy_server", "relabel_nodes", "destroy_nodes")
TARGETED = ("redeploy_server", "relabel_nodes", "destroy_nodes")
"""Those that are about named nodes."""
