obj.spec.pause = nil
return obj
