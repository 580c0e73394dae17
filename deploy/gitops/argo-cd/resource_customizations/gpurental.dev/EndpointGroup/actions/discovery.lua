local pause = obj.spec.pause or {}
local paused = pause.scaleUp == true and pause.scaleDown == true
return {
  ["pause"] = { disabled = paused },
  ["resume"] = { disabled = pause.scaleUp ~= true and pause.scaleDown ~= true },
}
