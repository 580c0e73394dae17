local stopped = obj.spec.powerState == "Stopped"
local deleting = obj.metadata.deletionTimestamp ~= nil
return {
  ["start"] = { disabled = deleting or not stopped },
  ["stop"] = { disabled = deleting or stopped },
  ["retry"] = { disabled = deleting },
  ["replace"] = { disabled = deleting or stopped },
}
