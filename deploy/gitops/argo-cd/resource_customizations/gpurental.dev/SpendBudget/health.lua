-- Health of SpendBudget for Argo CD, by the same status that kstatus reads.
local hs = { status = "Progressing", message = "Waiting for the operator" }
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  hs.message = "The operator has not yet seen this generation"
  return hs
end
local byType = {}
for _, condition in ipairs(obj.status.conditions) do
  byType[condition.type] = condition
end
local stalled = byType["Stalled"]
if stalled ~= nil and stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
local reconciling = byType["Reconciling"]
if reconciling ~= nil and reconciling.status == "True" then
  return { status = "Progressing", message = reconciling.message }
end
local ready = byType["Ready"]
if ready ~= nil and ready.status == "True" then
  return { status = "Healthy", message = ready.message }
end
if ready ~= nil then
  hs.message = ready.message
end
return hs
