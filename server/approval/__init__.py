"""Questions to humans about tool calls: asked, answered, remembered."""
