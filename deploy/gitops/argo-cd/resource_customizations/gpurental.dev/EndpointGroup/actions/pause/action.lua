obj.spec.pause = { scaleUp = true, scaleDown = true }
return obj
