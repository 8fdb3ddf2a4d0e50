"""Operations, one per file: `arithmetic.OPERATIONS` names them."""
