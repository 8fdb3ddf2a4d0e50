"""What a trained model will compute, exactly. No torch, no measurement."""
